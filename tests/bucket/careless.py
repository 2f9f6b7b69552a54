# A bucket that says yes to everything: it takes no notice of If-None-Match, as some servers do. Prints its port.
import http.server, sys, threading

objects = {}


class Careless(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        objects[self.path] = self.rfile.read(int(self.headers["content-length"]))
        self.answer(200)

    def do_GET(self):
        found = objects.get(self.path)
        self.answer(200, found) if found is not None else self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def do_DELETE(self):
        objects.pop(self.path, None)
        self.answer(204)

    def log_message(self, *words):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Careless)
print(server.server_address[1], flush=True)
server.serve_forever()
