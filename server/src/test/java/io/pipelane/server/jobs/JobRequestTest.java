package io.pipelane.server.jobs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.server.access.AccessControl;
import io.pipelane.server.access.Caller;
import io.pipelane.server.access.Keys;
import io.pipelane.server.http.EchoService;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is asked for as a job, and whether it is one. */
class JobRequestTest extends JobsInAFolder {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "../x",
        "/etc/passwd",
        "a/../../x",
        ".jobs/x",
        ".hidden",
        "a//b",
        "",
        "x\\u0000",
        "way/out/x",
        "missing/x",
        "a\\\\b",
        "x/."
      })
  void names_thatLeadOutOfTheFolder_areRefused(String name) throws IOException {
    Path outside = Files.createTempDirectory("outside");
    Files.createDirectories(folder.resolve("way"));
    Files.createSymbolicLink(folder.resolve("way/out"), outside);
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] output =
          JobsFixture.request("\"input_file\":\"in.jsonl\",\"output_file\":\"" + name + "\"");
      assertEquals(
          Status.INVALID_ARGUMENT, JobsFixture.refused(() -> jobs.submit(output, Caller.ANYBODY)));
      byte[] input = JobsFixture.request("\"input_file\":\"" + name + "\",\"output_file\":\"o\"");
      assertEquals(
          Status.INVALID_ARGUMENT, JobsFixture.refused(() -> jobs.submit(input, Caller.ANYBODY)));
      assertEquals(List.of(), jobs.list());
    }
    Files.delete(outside);
  }

  @Test
  void inputFile_thatIsALink_isRefused() throws IOException {
    Files.createSymbolicLink(folder.resolve("link"), Path.of("/etc/hostname"));
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request("\"input_file\":\"link\",\"output_file\":\"o\"");
      assertEquals(
          Status.NOT_FOUND, JobsFixture.refused(() -> jobs.submit(request, Caller.ANYBODY)));
    }
  }

  @Test
  void outputFile_thatIsTaken_isRefused() throws IOException {
    Files.writeString(folder.resolve("mine"), "precious");
    EchoService service = EchoService.holding();
    try (Jobs jobs = fixture.open(service);
        service) {
      assertEquals(
          Status.INVALID_ARGUMENT,
          JobsFixture.refused(() -> jobs.submit(JobsFixture.fileRequest("mine"), Caller.ANYBODY)));
      JobStatus job = jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY);
      assertEquals(
          Status.INVALID_ARGUMENT,
          JobsFixture.refused(() -> jobs.submit(JobsFixture.fileRequest("o"), Caller.ANYBODY)));
      jobs.remove(job.spec().id());
      while (!jobs.show(job.spec().id()).state().isEnd()) {
        JobsFixture.completeAll(service);
      }
    }
    assertEquals("precious", fixture.output("mine"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          "output_file":"o"                                        | has neither items nor an input
          "items":[{}],"input_file":"in.jsonl","output_file":"o"   | has both items and an input
          "input_file":"in.jsonl","output_file":"%s"               | segments have 128 characters
          "input_file":"%s","output_file":"o"                      | segments have 128 characters
          "input_file":"in.jsonl","output_file":"o","version":true | must be a text
          "input_file":"a","input_file":"b","output_file":"o"      | Duplicate field 'input_file'
          """)
  void requests_thatAreNone_areToldWhatIsWrong(String members, String reason) throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request(members.formatted("x".repeat(129)));
      StatusException refusal =
          assertThrows(StatusException.class, () -> jobs.submit(request, Caller.ANYBODY));
      assertTrue(String.valueOf(refusal.getMessage()).contains(reason), refusal::getMessage);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"2", "\"2\""})
  void version_isANumberOrAText(String version) throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request(JobsFixture.ONE_ITEM + ",\"version\":" + version);
      String id = jobs.submit(request, Caller.ANYBODY).spec().id();
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"output_file\":\"o\"",
        "\"input_file\":\"in.jsonl\"",
        "\"items\":[],\"output_file\":\"o\"",
        "\"items\":[1],\"output_file\":\"o\"",
        "\"items\":[{}],\"input_file\":\"in.jsonl\",\"output_file\":\"o\"",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"class\":\"urgent\"",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"size_hint\":0",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"repeat\":0",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"repeat\":1000001",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o\",\"extra\":1",
        "\"input_file\":7,\"output_file\":\"o\"",
        "\"input_file\":\"in.jsonl\",\"output_file\":\"o.0123456789abcdef.partial\""
      })
  void requests_thatAreNone_areRefused(String members) throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] request = JobsFixture.request(members);
      assertEquals(
          Status.INVALID_ARGUMENT, JobsFixture.refused(() -> jobs.submit(request, Caller.ANYBODY)));
      assertEquals(List.of(), jobs.list());
    }
  }

  @Test
  void keyForOfflineWork_submitsNoOnlineJob() throws IOException {
    String entries = Keys.entry("batch", "roles: [infer], priority: offline");
    try (AccessControl access = Keys.of(folder, entries);
        Jobs jobs = fixture.open(EchoService.inline())) {
      Caller caller = access.identify(null, "batch");
      String files = "\"input_file\":\"in.jsonl\",\"output_file\":\"o\"";
      byte[] online = JobsFixture.request(files + ",\"class\":\"online\"");
      assertEquals(
          Status.PERMISSION_DENIED, JobsFixture.refused(() -> jobs.submit(online, caller)));
      assertEquals(List.of(), jobs.list());
      JobStatus job = jobs.submit(JobsFixture.request(files), caller);
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, job.spec().id()).state());
    }
  }

  @Test
  void limits_ofRequestsAndJobs_areKept() throws IOException {
    try (Jobs jobs = fixture.open(EchoService.inline())) {
      byte[] huge = new byte[JobRequest.MOST_BYTES + 1];
      assertEquals(Status.TOO_LARGE, JobsFixture.refused(() -> jobs.submit(huge, Caller.ANYBODY)));
      for (String output : List.of("a", "b", "c")) {
        jobs.submit(JobsFixture.fileRequest(output), Caller.ANYBODY);
      }
      assertEquals(
          Status.UNAVAILABLE,
          JobsFixture.refused(() -> jobs.submit(JobsFixture.fileRequest("d"), Caller.ANYBODY)));
      byte[] unknown =
          "{\"model\":\"none\",\"input_file\":\"in.jsonl\",\"output_file\":\"d\"}".getBytes(UTF_8);
      assertEquals(
          Status.NOT_FOUND, JobsFixture.refused(() -> jobs.submit(unknown, Caller.ANYBODY)));
    }
  }

  @Test
  void folder_ofAnotherServer_isRefused() throws IOException {
    try (Jobs _ = fixture.open(EchoService.inline())) {
      StatusException error =
          assertThrows(StatusException.class, () -> fixture.open(EchoService.inline()));
      assertEquals(Status.UNAVAILABLE, error.status());
    }
    fixture.open(EchoService.inline()).close();
  }
}
