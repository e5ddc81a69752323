// The S3 server: versitygw with its POSIX backend only, since the other backends and its test suite would double the build time.
// It takes those of versitygw's own arguments that src/embedded/s3.ts uses, so either program can stand in for the other.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// Version is set by the build.
var Version = "git"

const usage = "usage: versitygw [--quiet] --port HOST:PORT --health PATH posix --sidecar METADATA OBJECTS"

func main() {
	quiet := flag.Bool("quiet", false, "do not print requests")
	port := flag.String("port", "", "address to listen at")
	health := flag.String("health", "", "path that answers 200")
	version := flag.Bool("version", false, "print the version")
	flag.Parse()
	if *version {
		fmt.Println("Version  :", Version)
		return
	}
	backend := flag.NewFlagSet("posix", flag.ExitOnError)
	sidecar := backend.String("sidecar", "", "folder of the metadata")
	if flag.Arg(0) != "posix" {
		log.Fatal(usage)
	}
	if err := backend.Parse(flag.Args()[1:]); err != nil || *sidecar == "" || backend.NArg() != 1 {
		log.Fatal(usage)
	}
	err := serve(backend.Arg(0), *sidecar, &embedgw.Config{
		RootUserAccess: os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret: os.Getenv("ROOT_SECRET_KEY"),
		Ports:          []string{*port},
		HealthPath:     *health,
		Quiet:          *quiet,
		// From here on: the defaults of versitygw's own command line.
		MaxConnections:    250_000,
		MaxRequests:       100_000,
		MultipartMaxParts: 10_000,
		Version:           Version,
	})
	if err != nil {
		log.Fatal(err)
	}
}

func serve(objects, sidecar string, config *embedgw.Config) error {
	metadata, err := meta.NewSideCar(sidecar)
	if err != nil {
		return fmt.Errorf("the metadata in %s: %w", sidecar, err)
	}
	backend, err := posix.New(objects, metadata, posix.PosixOpts{
		SideCarDir:          sidecar,
		NewDirPerm:          0o755,
		Concurrency:         5_000,
		CopyObjectThreshold: 5 << 30,
	})
	if err != nil {
		return fmt.Errorf("the objects in %s: %w", objects, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return embedgw.RunVersityGW(ctx, backend, config)
}
