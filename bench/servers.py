"""The servers that are compared: how each is found, started and measured."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A process on a port of its own. Children count: nginx and npm's commands have some."""

    name = ""
    is_limit = False   # answers the same bytes whatever is asked
    is_durable = False
    is_ours = False

    def __init__(self):
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="bench-")
        self.process = None
        self.start_s = None

    def command(self):
        raise NotImplementedError

    def prepare(self):
        """What must be there before the command runs."""

    def start(self):
        self.prepare()
        log = open(os.path.join(self.directory, "log"), "wb")
        began = time.perf_counter()
        self.process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        cwd=self.directory, start_new_session=True, close_fds=False)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                break
            except OSError:
                if self.process.poll() is not None or time.perf_counter() - began > 30:
                    raise RuntimeError(f"{self.name} does not start: {self.log()}") from None
                time.sleep(0.0001)
        self.start_s = time.perf_counter() - began
        return self

    def log(self):
        return pathlib.Path(self.directory, "log").read_text(errors="replace")[-2000:]

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def _pids(self):
        pids, found = [self.process.pid], []
        while pids:
            pid = pids.pop()
            found.append(pid)
            try:
                tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
                for task in tasks:
                    pids += [int(child) for child in (task / "children").read_text().split()]
            except OSError:
                pass
        return found

    def cpu_s(self):
        ticks = 0
        for pid in self._pids():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def commits(self):
        """Changes committed and commits made so far, as far as it says."""
        return 0, 0

    def resident_mb(self):
        kilobytes = 0
        for pid in self._pids():
            for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
                if line.startswith("VmRSS:"):
                    kilobytes += int(line.split()[1])
        return kilobytes / 1024


class Stator(Server):
    is_ours = True

    def __init__(self, name, *arguments, durable=False):
        super().__init__()
        self.name = name
        self.arguments = arguments
        self.is_durable = durable

    def command(self):
        binary = os.environ.get("STATOR_BINARY", str(ROOT / "build" / "stator"))
        where = ("--data-dir", os.path.join(self.directory, "data")) if "--in-memory" not in self.arguments else ()
        return [binary, "--port", str(self.port), *where, *self.arguments]

    def engine_metrics(self, *names):
        """Those without labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stator/metrics") as answer:
            text = answer.read().decode()
        return tuple(float(re.search(rf"^stator_engine_{name} (\S+)$", text, re.M).group(1)) for name in names)

    def commits(self):
        return self.engine_metrics("commit_changes_sum", "commit_changes_count")


class Nginx(Server):
    """The limit: a fixed answer of the size of ours, with the same headers."""

    name = "nginx"
    is_limit = True

    def __init__(self):
        super().__init__()
        self.answer = b"{}"

    @staticmethod
    def is_there():
        return shutil.which("nginx") or os.path.exists("/usr/sbin/nginx")

    def prepare(self):
        folder = pathlib.Path(self.directory)
        (folder / "answer").write_bytes(self.answer)
        # A short answer comes from memory; nginx takes at most 4 KB of it in a line. A longer one is a file.
        text = self.answer.decode("utf-8", "replace").replace("\\", "\\\\").replace("'", "\\'").replace("$", "")
        serve = (f"return 200 '{text}';" if len(text) < 3500 else
                 "error_page 405 =200 /answer; root " + str(folder) + "; rewrite ^/$ /answer break;")
        (folder / "nginx.conf").write_text(f"""
daemon off; {"user root;" if os.geteuid() == 0 else ""} worker_processes auto; pid {folder}/pid; error_log {folder}/error warn;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; client_max_body_size 20m; sendfile on; tcp_nopush on;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{self.port}; default_type application/x-amz-json-1.0;
    add_header x-amzn-RequestId 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF; add_header x-amz-crc32 1234567890;
    location / {{ {serve} }}
  }}
}}
""")

    def command(self):
        return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", os.path.join(self.directory, "nginx.conf"),
                "-p", self.directory]

    def answer_with(self, body):
        """Starts again with another answer."""
        if body == self.answer and self.process is not None:
            return
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
        self.answer = body
        self.port = free_port()
        self.start()


class Peer(Server):
    """An emulator from npm, if bench/peers has it installed (`make bench` does, where npm reaches its registry)."""

    def __init__(self, name, *arguments, durable=False):
        super().__init__()
        self.name = name
        self.arguments = arguments
        self.is_durable = durable

    @staticmethod
    def binary(package):
        path = HERE / "peers" / "node_modules" / ".bin" / package
        return str(path) if path.exists() else shutil.which(package)


class Dynalite(Peer):
    def command(self):
        return [self.binary("dynalite"), "--port", str(self.port), "--createTableMs", "0", *self.arguments]


class Dynoxide(Peer):
    def command(self):
        return [self.binary("dynoxide"), "--port", str(self.port), *self.arguments]


class DynamoDBLocal(Peer):
    """DYNAMODB_LOCAL names the folder of its archive; or its jars are where `make bench` puts them."""

    FETCHED = HERE / "peers" / "dynamodb-local"

    @classmethod
    def folder(cls):
        folder = os.environ.get("DYNAMODB_LOCAL") or (str(cls.FETCHED) if cls.FETCHED.is_dir() else None)
        return folder if folder and shutil.which("java") else None

    def command(self):
        folder = self.folder()
        libraries = f"{folder}/DynamoDBLocal_lib" if os.path.isdir(f"{folder}/DynamoDBLocal_lib") else folder
        return ["java", f"-Djava.library.path={libraries}", "-cp", f"{folder}/*:{libraries}/*",
                "com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-sharedDb", "-port",
                str(self.port)]


def all_servers():
    servers = [Nginx()] if Nginx.is_there() else []
    servers.append(Stator("stator memory", "--in-memory"))
    servers.append(Stator("stator durable", durable=True))
    if Peer.binary("dynoxide"):
        servers.append(Dynoxide("dynoxide"))
        # On disk it does not flush each write.
        servers.append(Dynoxide("dynoxide on disk", "--db-path", "bench.db", durable=True))
    if Peer.binary("dynalite"):
        servers.append(Dynalite("dynalite"))
    if DynamoDBLocal.folder():
        servers.append(DynamoDBLocal("dynamodb local"))
    return servers
