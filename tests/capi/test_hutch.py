"""Python's package as a program uses it. One argument: the repository. Runs in CPython 3.6 and later."""

import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import hutch

REPOSITORY = sys.argv.pop()
TODO = Path(REPOSITORY) / "packages" / "todo"
PROBE = Path(REPOSITORY) / "tests" / "packages" / "probe"


class InMemory(unittest.TestCase):
    def setUp(self):
        self.host = hutch.Host()
        self.addCleanup(self.host.close)
        self.todo = self.host.package(TODO)

    def test_a_run_its_answer_and_the_way_back(self):
        answer = self.todo.run("add", "milk", now="2026-04-01T09:00:00Z", seed="7").check()
        self.assertTrue(answer.ok and answer.result["kept"])
        self.assertEqual(json.loads(answer.stdout.decode()), answer.output)
        plan = self.todo.plan("add", "bread")
        self.assertEqual(len(self.todo.run("list").output["items"]), 1)
        self.todo.apply(plan)
        self.assertEqual(len(self.todo.run("list").output["items"]), 2)
        self.todo.undo(2)
        self.assertEqual(self.todo.run("list").output["items"], [])
        self.assertEqual(self.todo.verify().result["differ"], 0)
        kinds = [entry["kind"] for entry in self.todo.ledger()]
        self.assertEqual((kinds[-1], kinds.count("undo")), ("create", 1))
        self.assertIn("todo_add", [tool["name"] for tool in self.todo.tools()])

    def test_a_granted_folder_is_changed_by_a_plan_and_put_back(self):
        with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder, hutch.Host(home) as host:
            letter = Path(folder) / "letter"
            letter.write_text("dear reader")
            mounts = {"mnt": {"folder": folder, "access": "rw"}}
            probe = host.package(PROBE)
            plan = probe.plan("remove", "mnt/letter", mounts=mounts)
            for command in (lambda: probe.apply(plan), lambda: probe.apply(plan, mounts={"mnt": dict(mounts["mnt"], access="ro")})):
                with self.assertRaises(hutch.Error) as refused:
                    command()
                self.assertEqual(refused.exception.code, "NOT_REPRODUCIBLE")
            self.assertTrue(letter.exists())
            probe.apply(plan, mounts=mounts)
            self.assertFalse(letter.exists())
            with self.assertRaises(hutch.Error) as refused:
                probe.undo()
            self.assertEqual(refused.exception.code, "PERMISSION_DENIED")
            self.assertFalse(letter.exists())
            probe.undo(mounts=mounts)
            self.assertEqual(letter.read_text(), "dear reader")

    def test_an_entry_is_proved_to_whoever_has_the_file(self):
        added = self.todo.run("add", "Write docs").check()
        proof = self.todo.prove()
        with hutch.Host() as other:
            checked = other.check(proof)
            self.assertEqual(checked.result["argv"], ["todo", "add", "Write docs"])
            self.assertEqual((checked.result["output"], checked.stdout), (json.loads(added.stdout), added.stdout))
            self.assertEqual(other.check(self.todo.prove(bare=True), TODO).result["entry"], other.check(proof).result["entry"])
            for wrong in (proof[:-2] + b"\n", proof.replace(b"signatures", b"signaturez"), b""):
                with self.assertRaises(hutch.Error) as refused:
                    other.check(wrong)
                self.assertEqual(refused.exception.code, "VERIFY_FAILED")

    def test_what_is_refused_is_an_error_with_a_code(self):
        with self.assertRaises(hutch.Error) as refused:
            self.todo.run("list", nothing=1)
        self.assertEqual((refused.exception.code, refused.exception.status), ("USAGE", 2))
        with self.assertRaises(hutch.Error) as refused:
            self.todo.run("remove", "td_0001")
        self.assertEqual(refused.exception.code, "CONFIRMATION_REQUIRED")
        with self.assertRaises(hutch.Error) as refused:
            self.host.package("/there/is/none").run("list")
        self.assertEqual(refused.exception.code, "PACKAGE_NOT_FOUND")
        with self.assertRaises(hutch.Error):
            hutch.Host(cache="x")

    def test_a_call_is_about_the_package_that_it_is_made_on(self):
        self.todo.run("list").check()
        for other in ({"package": "/etc"}, {"instance": "other"}):
            with self.assertRaises(TypeError):
                self.todo.run("add", "x", **other)
        self.assertEqual(self.todo.run("list").output["items"], [])

    def test_a_deadline_that_has_passed_changes_nothing(self):
        self.todo.run("add", "milk").check()
        for command, more in (("undo", {}), ("undo", {"to": "@1"}), ("run", {"arguments": ["add", "x"]})):
            with self.assertRaises(hutch.Error) as cancelled:
                self.todo.call(command, deadline_ms=0, **more)
            self.assertEqual(cancelled.exception.code, "CANCELLED")
        self.assertEqual(len(self.todo.run("list").output["items"]), 1)

    def test_what_a_guest_wrote_is_there_where_the_document_is_too_large(self):
        probe = self.host.package(PROBE)
        with self.assertRaises(hutch.Error) as lost:
            probe.run("stdout", "20000000", contract="any", limits={"stdout_bytes": 40000000})
        error = lost.exception
        self.assertEqual((error.code, error.details["kept"], len(error.stdout)), ("ANSWER_LOST", True, 20000000))
        self.assertEqual(next(probe.ledger())["sequence"], error.details["entry"]["sequence"])

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_a_forked_process_is_refused_its_parents_hosts(self):
        self.todo.run("list").check()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.todo.run("list", deadline_ms=1000)
                said = b"answered"
            except hutch.Error as error:
                said = error.code.encode()
            with hutch.Host() as own:
                said += b" own" if own.package(TODO).run("list").ok else b" none"
            self.host.close()
            os.write(writing, said)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as told:
            self.assertEqual(told.read(), b"USAGE own")
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.todo.run("list").check()

    def test_a_guest_that_fails_is_an_answer(self):
        answer = self.todo.run("get", "td_9999")
        self.assertFalse(answer.ok or answer.result["kept"])
        with self.assertRaises(hutch.Error) as failed:
            answer.check()
        self.assertEqual(failed.exception.status, answer.status)
        trapped = self.host.package(PROBE).run("trap")
        with self.assertRaises(hutch.Error) as failed:
            trapped.check()
        self.assertEqual(failed.exception.code, "GUEST_TRAPPED")

    def test_bytes_go_in_and_come_out_unchanged(self):
        given = bytes(range(256))
        self.assertEqual(self.host.package(PROBE).run("stdin-echo", stdin=given, contract="any").stdout, given)
        self.assertEqual(self.host.package(PROBE).run("stdin-echo", stdin="\u00fc", contract="any").stdout, b"\xc3\xbc")

    def test_a_deadline_and_a_name_end_a_call(self):
        probe = self.host.package(PROBE)
        endless = {"limits": {"fuel": 2**63, "wall_time_ms": 600000}}
        # Ready, so that it is the guest that is ended.
        probe.run("exit", "0", contract="any").check()
        with self.assertRaises(hutch.Error) as cancelled:
            probe.run("spin", deadline_ms=2000, **endless)
        self.assertEqual(cancelled.exception.code, "CANCELLED")
        self.assertEqual(next(probe.ledger())["error"], "CANCELLED")
        codes = []

        def spin():
            try:
                probe.run("spin", id="mine", **endless)
            except hutch.Error as error:
                codes.append(error.code)

        thread = threading.Thread(target=spin)
        thread.start()
        # The interpreter is free while a guest runs, or this would never be reached.
        while self.host.cancel("mine") == 0 and thread.is_alive():
            pass
        thread.join()
        self.assertEqual(codes, ["CANCELLED"])

    def test_threads_share_a_host(self):
        self.todo.run("list").check()

        def add(number):
            for _ in range(5):
                self.todo.run("add", "item %d" % number, retry=1000).check()

        threads = [threading.Thread(target=add, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(self.todo.run("list").output["items"]), 30)

    def test_a_host_that_is_closed_refuses(self):
        with hutch.Host() as host:
            todo = host.package(TODO)
            todo.run("list").check()
        host.close()
        with self.assertRaises(hutch.Error) as refused:
            todo.run("list")
        self.assertEqual(refused.exception.code, "USAGE")
        del host, todo
        gc.collect()


class InAHome(unittest.TestCase):
    def test_state_is_there_for_the_next_host(self):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            with hutch.Host(home, cache=Path(folder) / "cache", interpreter=True) as host:
                host.package(TODO, "mine").run("add", "milk").check()
            with hutch.Host(home, compiler="") as host:
                listed = host.package(TODO, "mine").run("list").check().output["items"]
                self.assertEqual([item["title"] for item in listed], ["milk"])
                # What was interpreted is verified by machine code.
                self.assertEqual(host.package(TODO, "mine").verify().result["differ"], 0)
                with self.assertRaises(hutch.Error) as refused:
                    host.package(TODO, "other").undo()
                self.assertEqual(refused.exception.code, "NOT_FOUND")


class Process(unittest.TestCase):
    def test_faults_of_guests_end_guests(self):
        script = "import faulthandler, hutch; faulthandler.enable(); host = hutch.Host()\n" "for way in ('calls', 'memory'): print(host.package({!r}).run('recurse', '--stack', way).result['ending'])"
        done = subprocess.run([sys.executable, "-c", script.format(str(PROBE))], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [b"limited", b"trapped"]), done.stderr)

    def test_the_interpreter_takes_no_faults_whoever_handles_them(self):
        script = "import faulthandler, hutch; host = hutch.Host(interpreter=True); probe = host.package({!r})\n" "print(probe.run('trap').result['ending']); faulthandler.enable(); print(probe.run('recurse').result['ending'])"
        done = subprocess.run([sys.executable, "-c", script.format(str(PROBE))], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout.split()), (0, [b"trapped", b"limited"]), done.stderr)

    def test_a_host_that_is_never_closed_says_nothing_at_the_end(self):
        script = "import builtins, hutch; builtins.host = hutch.Host(); builtins.host.package({!r}).run('list').check()"
        done = subprocess.run([sys.executable, "-c", script.format(str(TODO))], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


if __name__ == "__main__":
    unittest.main()
