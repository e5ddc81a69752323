// Graders that attack their sandbox on the sample with n = 3, and grade every other sample by n / 10.

/** What becomes of the attack's sample: its own score, or a part of an error. `inPod`: where a pod's walls answer otherwise. */
export type Attack = { source: string; becomes: number | RegExp; inPod?: number | RegExp }

const attack = (becomes: Attack['becomes'], body: string, inPod = becomes): Attack => ({
  ...{ becomes, inPod },
  source: `
import os, sys
def hostile(sample, item):
${body.replaceAll(/^/gm, '    ')}

def grade(sample, item):
    if item["n"] == 3:
        return hostile(sample, item)
    return item["n"] / 10
`,
})

/** Fails by the text of what was reached, so that a wall with a hole shows what is behind it. */
const reached = 'raise SystemExit("reached " + repr(found))'

export const quickAttacks: Record<string, Attack> = {
  'opens a connection': attack(
    /PermissionError/,
    `import socket\nfound = socket.create_connection(("1.1.1.1", 53), timeout=5)\n${reached}`,
  ),
  'asks the host by a socket of virtual machines': attack(
    /PermissionError/,
    `import socket\nfound = socket.socket(socket.AF_VSOCK)\n${reached}`,
  ),
  'makes a pair of sockets of a cluster protocol': attack(
    /PermissionError/,
    `import socket\nfound = socket.socketpair(socket.AF_TIPC)\n${reached}`,
  ),
  'reads files of the service and the machine': attack(
    0,
    `
def readable(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError:
        return []
found = [path for path in sample["forbidden"] if readable(path)]
if found: ${reached}
return 0`,
  ),
  'reads the environment': attack(
    0,
    `found = [k for k in os.environ if "ANNEAL" in k or "KEY" in k]\nif found: ${reached}\nreturn 0`,
  ),
  'forks without end': attack(/PermissionError|BlockingIOError/, 'while True: os.fork()'),
  'starts programs': attack(/PermissionError/, 'import subprocess\nsubprocess.run([sys.executable, "-c", "pass"])'),
  'becomes another program': attack(/PermissionError/, 'os.execv(sys.executable, [sys.executable, "-c", "pass"])'),
  'starts threads without end': attack(
    /can't start new thread/,
    'import threading\nwhile True: threading.Thread(target=lambda: None).start()',
  ),
  'takes all memory': attack(/MemoryError|process ended/, 'return len(bytearray(8 * 1024**3))'),
  'takes memory that no limit counts': attack(/PermissionError/, 'return os.memfd_create("memory")'),
  // A pod's grader sees its server, and can do nothing to it.
  'looks for other processes': attack(
    /FileNotFoundError/,
    `
own = ("1", str(os.getpid()))
found = [each for each in os.listdir("/proc") if each.isdigit() and each not in own]
if found: ${reached}
return 0`,
    0,
  ),
  "reads its server's memory and files": attack(
    0,
    `
found = []
for name in ("mem", "environ", "maps", "fd", "root", "cwd"):
    path = f"/proc/{os.getppid()}/{name}"
    try:
        found.append(os.listdir(path) if name in ("fd", "root", "cwd") else open(path, "rb+" if name == "mem" else "rb").read(1))
    except OSError:
        pass
if found: ${reached}
return 0`,
  ),
  'signals every process that it may': attack(
    /process ended|PermissionError|ProcessLookupError/,
    'import signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(1, signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)',
    // The first process of a pod takes no signal, and there is no other one.
    /ProcessLookupError|grade returned NoneType/,
  ),
  'signals its parent with every number': attack(
    /process ended|grade returned NoneType|ProcessLookupError|PermissionError/,
    'for number in range(1, 65):\n    os.kill(os.getppid(), number)',
  ),
  'makes a user namespace': attack(
    /refused/,
    'import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) != 0: raise Exception("refused")',
  ),
  'prints without end until its limit of text': attack(
    /^x{900,}[\s\S]*KeyError/,
    'for _ in range(10**6): print("x" * 1000)\nreturn {}[0]',
  ),
  'changes built-ins and modules': attack(
    /ZeroDivisionError/,
    `
import builtins, json, math
builtins.float = builtins.repr = builtins.isinstance = builtins.str = lambda *a: 1.0
json.loads = json.dumps = math.isfinite = os.write = os.read = lambda *a, **k: 1
sys.settrace(lambda *a: 1 / 0)
return 1 / 0`,
  ),
  'leaves a timer for the next sample': attack(
    0.3,
    `
import signal
def late(*_): raise SystemExit("late")
signal.signal(signal.SIGALRM, late)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
try:
    signal.pause()
except SystemExit: pass
return 0.3`,
  ),
  "looks for another sample's line": attack(
    0,
    `
import gc
texts = [each for each in gc.get_objects() if isinstance(each, dict) and each.get("secret") not in (None, item["secret"])]
os.set_blocking(4, False)
try:
    found = os.read(4, 1000)
except OSError:
    found = b""
if texts or found: raise SystemExit("reached")
return 0`,
  ),
  'calls sys.exit': attack(/SystemExit: 7/, 'sys.exit(7)'),
  'calls os._exit': attack(/process ended: exit code 7/, 'os._exit(7)'),
  'crashes the interpreter': attack(/process ended/, 'import ctypes\nctypes.string_at(0)'),
  'recurses deeply': attack(/RecursionError/, 'return hostile(sample, item)'),
  'returns a huge text': attack(/grade returned str/, 'return "9" * 10**8'),
  'returns a huge number': attack(/OverflowError/, 'return 10 ** 400'),
  'returns no number': attack(/grade returned nan/, 'return float("nan")'),
  'returns nothing': attack(/grade returned NoneType/, 'return None'),
  'writes answers for itself and others': attack(
    /wrote to the channel/,
    `
line = b'{"score": 1}\\n' * 9
for descriptor in range(3, 12):
    try: os.write(descriptor, line)
    except OSError: pass
return 1`,
  ),
  'answers by its own key and once more': attack(
    /wrote to the channel/,
    `
frame = sys._getframe()
while frame and "key" not in frame.f_locals: frame = frame.f_back
line = (frame.f_locals["key"] + '{"score": 1}\\n').encode()
os.write(frame.f_locals["results"], line + line)
return 1`,
  ),
  'fills the channel of results': attack(
    /wrote to the channel|process ended/,
    'while True:\n    for descriptor in range(3, 12):\n        try: os.write(descriptor, b"x" * 65536)\n        except OSError: pass',
  ),
  'makes symbolic links out of its folder': attack(
    0,
    `
os.symlink("/", "/tmp/root")
found = [path for path in sample["forbidden"] if os.path.exists("/tmp/root" + path) and os.access("/tmp/root" + path, os.R_OK)]
if found: ${reached}
return 0`,
  ),
  'leaves files for the next process': attack(
    /process ended: exit code 3/,
    `
if os.path.exists("/tmp/left") or os.path.exists("/dev/shm/left"): return 1
os.makedirs("/tmp/left/in/deep")
open("/tmp/left/in/deep/file", "w").write("x")
os.chmod("/tmp/left/in", 0)
try: open("/dev/shm/left", "w").write("x")
except OSError: pass
os._exit(3)`,
  ),
  'takes its connection to other addresses': attack(
    /PermissionError|grade returned NoneType/,
    `
import socket
for descriptor in range(3, 64):
    try: found = socket.socket(fileno=os.dup(descriptor)).family
    except OSError: continue
    if found != socket.AF_UNIX: ${reached}`,
  ),
  'writes outside of its folder': attack(/OSError|Read-only/, 'open("/run_grader.py", "w")'),
}

/** Each takes the time limit of a sample, or gigabytes. */
export const slowAttacks: Record<string, Attack> = {
  'runs without end': attack(/took more than/, 'while True: pass'),
  sleeps: attack(/took more than/, 'import time\ntime.sleep(10**6)'),
  'ignores signals': attack(
    /took more than/,
    'import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: pass',
  ),
  'prints without end': attack(/took more than/, 'while True: print("x" * 10**6)'),
  'recurses without a limit': attack(
    /Error|process ended|took more than/,
    'sys.setrecursionlimit(2**31 - 1)\nreturn hostile(sample, item)',
  ),
  'fills its folder': attack(
    /OSError|took more than/,
    'with open("/tmp/file", "wb") as file:\n    while True: file.write(bytes(1 << 20))',
  ),
  'fills its folder with many files': attack(
    /OSError|took more than/,
    'import itertools\nfor n in itertools.count():\n    with open(f"/tmp/{n}", "wb") as file:\n        file.write(bytes(64 << 20))',
  ),
  'fills memory little by little': attack(
    /MemoryError|process ended|took more than/,
    'kept = []\nwhile True: kept.append(bytearray(1 << 20))',
  ),
}
