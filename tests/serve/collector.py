"""A collector of OpenTelemetry that reads what it is sent with the project's own definitions, and writes a line for each span and each metric.

Called by tests/serve/http.sh: collector.py ADDRESS LINES, the files that it writes its address and those lines to.
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

ADDRESS, LINES = sys.argv[1:3]


def service(resource):
    return next(one.value.string_value for one in resource.attributes if one.key == "service.name")


def spans(body):
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8 and span.end_time_unix_nano >= span.start_time_unix_nano
                yield f"{service(resource.resource)} span {span.name}"


def metrics(body):
    for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                assert all(point.count == sum(point.bucket_counts) for point in metric.histogram.data_points)
                yield f"{service(resource.resource)} metric {metric.name} {metric.unit}"


KINDS = {"/v1/traces": (spans, ExportTraceServiceResponse), "/v1/metrics": (metrics, ExportMetricsServiceResponse)}


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        read, answer = KINDS[self.path]
        assert self.headers["content-type"] == "application/x-protobuf"
        lines = list(read(self.rfile.read(int(self.headers["content-length"]))))
        with open(LINES, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        body = answer().SerializeToString()
        self.send_response(200)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
with open(ADDRESS, "w", encoding="utf-8") as file:
    file.write(f"http://127.0.0.1:{server.server_port}")
server.serve_forever()
