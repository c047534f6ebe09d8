"""Serves a Django site whose settings are configured. Prints its address, then serves until standard input ends."""

import json
import sys
import threading
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.core.management import call_command
from django.core.wsgi import get_wsgi_application


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def serve(port):
    call_command("migrate", run_syncdb=True, verbosity=0)
    server = make_server("127.0.0.1", port, get_wsgi_application(), Server, Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"address": f"http://127.0.0.1:{port}"}), flush=True)
    sys.stdin.read()
