// The main job by the client that oapi-codegen has made of the document in OpenAPI 3.0.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"job/anneal"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	base := os.Getenv("BASE_MODEL")
	client, err := anneal.NewClientWithResponses(os.Getenv("ANNEAL_URL"), anneal.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("ANNEAL_API_KEY"))
			return nil
		}))
	check(err)

	place, err := client.DataWithResponse(ctx, nil, anneal.DataRequest{DatasetId: "oapi-codegen"})
	check(err)
	upload(place.JSON200.DatasetLocation, os.Getenv("SAMPLE_FILE"))

	steps := 20
	accepted, err := client.TrainWithResponse(ctx, nil, anneal.TrainRequest{
		ModelName:    base,
		DatasetId:    &place.JSON200.DatasetId,
		FinetuneArgs: &anneal.FinetuneArgs{MaxSteps: &steps},
	})
	check(err)
	id, err := strconv.Atoi(*accepted.JSON200.JobId)
	check(err)
	job := wait(ctx, client, id)
	expect(string(job.Status), "COMPLETED")

	evaluation, err := client.GetEvaluationWithResponse(ctx, id)
	check(err)
	outputs := evaluation.JSON200.EvalResults[0].Outputs
	expect(outputs[0].ModelName, *job.ModelName)
	expect(outputs[1].ModelName, base)

	tokens := 8
	answer, err := client.CompletionsWithResponse(ctx, anneal.CompletionRequest{
		ModelName: *job.ModelName,
		Prompt:    "Who?",
		MaxTokens: &tokens,
	})
	check(err)
	if _, isText := (*answer.JSON200).(map[string]any)["output"].(string); !isText {
		log.Fatalf("no text: %s", answer.Body)
	}

	name := "no-such-model"
	refused, err := client.TrainWithResponse(ctx, nil, anneal.TrainRequest{ModelName: name, DatasetId: &place.JSON200.DatasetId})
	check(err)
	expect(refused.ApplicationproblemJSON404.Code, "model_not_found")
	fmt.Println("job", id, "is", job.Status)
}

func upload(url, path string) {
	rows, err := os.ReadFile(path)
	check(err)
	request, err := http.NewRequest(http.MethodPut, url, bytes.NewReader(rows))
	check(err)
	response, err := http.DefaultClient.Do(request)
	check(err)
	expect(response.Status, "200 OK")
}

func wait(ctx context.Context, client *anneal.ClientWithResponses, id int) *anneal.TrainingJob {
	for range 600 {
		job, err := client.GetTrainingJobWithResponse(ctx, id)
		check(err)
		if status := job.JSON200.Status; status == "COMPLETED" || status == "FAILED" {
			return job.JSON200
		}
		time.Sleep(200 * time.Millisecond)
	}
	log.Fatal("the job does not end")
	return nil
}

func expect(found, wanted string) {
	if found != wanted {
		log.Fatalf("found %q, not %q", found, wanted)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
