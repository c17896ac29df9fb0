# Tries every way out and says, as JSON on standard output, which of them led anywhere.
import ctypes, json, os, socket, subprocess, sys, urllib.request

asked = json.loads(sys.argv[1])
found = {}


def attempt(name, act):
    try:
        found[name] = act() or "yes"
    except Exception as error:
        found[name] = "no: " + type(error).__name__


def http(host, port, proxied):
    handler = urllib.request.ProxyHandler() if proxied else urllib.request.ProxyHandler({})
    opener = urllib.request.build_opener(handler)
    return opener.open(f"http://{host}:{port}/", timeout=3).read().decode()


def connect(family, address, kind=socket.SOCK_STREAM, protocol=0):
    with socket.socket(family, kind, protocol) as made:
        made.settimeout(2)
        made.connect(address)
        made.send(b"x")


def make(family, kind=socket.SOCK_STREAM, protocol=0):
    socket.socket(family, kind, protocol).close()


def call(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")


listed, other, port = asked["listed"], asked["other"], asked["port"]
attempt("listed through the proxy", lambda: http(listed, port, True))
attempt("unlisted through the proxy", lambda: http(other, asked["other_port"], True))
attempt("metadata through the proxy", lambda: http("169.254.169.254", 80, True))
attempt("loopback of the host through the proxy", lambda: http("127.0.0.2", asked["loopback"], True))
attempt("listed without the proxy", lambda: http(listed, port, False))
attempt("listed, direct", lambda: connect(socket.AF_INET, (listed, port)))
attempt("loopback of the host", lambda: connect(socket.AF_INET, ("127.0.0.1", asked["loopback"])))
attempt("udp", lambda: connect(socket.AF_INET, (listed, asked["udp"]), socket.SOCK_DGRAM))
attempt("icmp", lambda: make(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
attempt("ping", lambda: connect(socket.AF_INET, (listed, 0), socket.SOCK_DGRAM, socket.IPPROTO_ICMP))
attempt("ipv6", lambda: connect(socket.AF_INET6, ("2001:db8::1", 80)))
attempt("dns", lambda: socket.getaddrinfo("example.com", 80) and "yes")
attempt("dns server", lambda: connect(socket.AF_INET, ("8.8.8.8", 53), socket.SOCK_DGRAM))
attempt("unix socket in the workspace", lambda: connect(socket.AF_UNIX, "host.sock"))
attempt("unix socket of the host", lambda: connect(socket.AF_UNIX, asked["unix"]))
attempt("abstract socket of the host", lambda: connect(socket.AF_UNIX, "\0" + asked["abstract"]))
attempt("netlink", lambda: make(socket.AF_NETLINK, socket.SOCK_RAW))
attempt("packet", lambda: make(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: make(40))
if os.uname().machine == "x86_64":
    attempt("io_uring", lambda: call(425, 1, ctypes.create_string_buffer(120)))
    attempt("unshare", lambda: call(272, 0x40000000))
    attempt("ptrace", lambda: call(101, 0, 0, 0, 0))
    attempt("mount", lambda: call(165, b"none", b"/tmp", b"tmpfs", 0, 0))
    attempt("bpf", lambda: call(321, 0, 0, 0))
attempt("state listed", lambda: os.listdir(asked["state"]) and "yes")
attempt("state read", lambda: open(asked["state"] + "/vault.key", "rb").read() and "yes")
attempt("home of the host", lambda: open(asked["secret"]).read())
attempt("passwords of the host", lambda: open("/etc/shadow").read() and "yes")
attempt("system changed", lambda: open("/usr/changed", "w"))
attempt("configuration changed", lambda: open("tidegate.toml", "a"))
attempt("processes of the host", lambda: os.stat(f"/proc/{asked['process']}/root") and "yes")
attempt("token", lambda: os.environ["TIDEGATE_TOKEN"])
attempt("inherited files", lambda: max(int(fd) for fd in os.listdir("/proc/self/fd")) > 3 and "yes" or "no: none")
attempt("workspace changed", lambda: open("kept.txt", "w").write("kept") and "yes")


def own_loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect(socket.AF_INET, server.getsockname())


attempt("own loopback", own_loopback)
attempt("child processes", lambda: subprocess.run([sys.executable, "-c", "print(1)"], check=True, capture_output=True) and "yes")
print(json.dumps(found))
