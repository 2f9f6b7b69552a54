# Stands between clients and a server: hands everything on, and ends one connection in EVERY at a random byte. Prints its port. Usage:
# cutting.py SERVER_PORT EVERY SEED. The head of a request is handed on whole or not at all: Python's servers, of which moto is one, take one that
# was cut short for a whole one without a body, and put an object of no bytes.
import random, socket, sys, threading

port, every, seed = (int(word) for word in sys.argv[1:4])
chance = random.Random(seed)
lock = threading.Lock()


def hand_on(source, target, left):
    try:
        while data := source.recv(4096):
            with lock:
                passes = len(data) if left[0] is None else min(len(data), left[0])
                if left[0] is not None:
                    left[0] -= passes
                if data.startswith((b"GET ", b"HEAD ", b"PUT ", b"POST ", b"DELETE ")):
                    end = data.find(b"\r\n\r\n")
                    if passes < (len(data) if end < 0 else end + 4):
                        passes = 0
            target.sendall(data[:passes])
            if passes < len(data):
                break
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(listener.getsockname()[1], flush=True)
while True:
    client, _ = listener.accept()
    try:
        server = socket.create_connection(("127.0.0.1", port))
    except OSError:
        client.close()
        continue
    left = [chance.randrange(12000) if chance.randrange(every) == 0 else None]
    for source, target in ((client, server), (server, client)):
        threading.Thread(target=hand_on, args=(source, target, left), daemon=True).start()
