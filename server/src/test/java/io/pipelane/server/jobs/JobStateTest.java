package io.pipelane.server.jobs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.WholeFile;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.server.access.Caller;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs whose model keeps state: each row is the sum of all items so far. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class JobStateTest {
  private static final int ITEMS = 120;
  private static final long REPEAT = 3;

  @TempDir Path folder;
  private JobsFixture fixture = new JobsFixture(Path.of(""));

  @BeforeEach
  void writeInput() throws IOException {
    fixture = new JobsFixture(folder);
    fixture.writeInput("in.jsonl", ITEMS);
  }

  /** Sums of the fixture's items, whose first numbers count up from 0 in each pass. */
  private static String rows(String model) {
    StringBuilder rows = new StringBuilder();
    double first = 0;
    for (int i = 0; i < ITEMS * REPEAT; i++) {
      first += i % ITEMS;
      rows.append(
          "{\"item\":%d,\"response\":{\"model_name\":\"%s\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y_x\",\"datatype\":\"FP32\",\"shape\":[1,4],\"data\":[%s,%s,%s,%s]}]}}\n"
              .formatted(i, model, first, 0.5 * (i + 1), 2.0 * (i + 1), 3.0 * (i + 1)));
    }
    return rows.toString();
  }

  private void checkJob(SummingService service) throws IOException {
    checkJob(service, "sum");
  }

  private void checkJob(SummingService service, String model) throws IOException {
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.sumRequest(model, REPEAT), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
      assertEquals(ITEMS * REPEAT, ended.rows());
    }
    assertEquals(rows(model), fixture.output("out.jsonl"));
    assertEquals(0, service.sequences());
  }

  @Test
  void items_areOneSequenceInTheirOrder() throws IOException {
    checkJob(new SummingService());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, JobsFixture.CHECKPOINT, JobsFixture.CHECKPOINT + 1, 200, 360})
  void stateThatIsLost_theJobGoesBackToItsCheckpoint(int steps) throws IOException {
    SummingService service = new SummingService();
    service.forgetAfter = steps;
    checkJob(service);
  }

  @Test
  void stateThatItsDeviceDoesNotGive_theJobGoesBackToItsCheckpoint() throws IOException {
    SummingService service = new SummingService();
    service.failingReads = 2;
    checkJob(service);
  }

  /** A row must not count what was added for an item that is asked for again. */
  @Test
  void itemThatFailsHalfwayThroughAnEnsemble_theJobGoesBackToItsCheckpoint() throws IOException {
    SummingService service = new SummingService();
    service.failuresHalfway = 3;
    checkJob(service, "sums");
  }

  /** It would be wrong each time, and no state is lost with it. */
  @Test
  void firstItemThatIsWrong_isARow_andTheNextBeginsTheState() throws IOException {
    SummingService service = new SummingService();
    service.wrongBeginnings = 2;
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.sumRequest("sums", 1), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
      assertEquals(ITEMS, ended.rows());
    }
    String[] rows = fixture.output("out.jsonl").split("\n", -1);
    assertTrue(rows[1].contains("a wrong item"), rows[1]);
    assertTrue(rows[2].contains("[2.0,0.5,2.0,3.0]"), rows[2]);
    assertTrue(rows[3].contains("[5.0,1.0,4.0,6.0]"), rows[3]);
    assertEquals(0, service.sequences());
  }

  /** Those behind it find the state as if it had not been there, in every model. */
  @Test
  void itemThatIsWrongHalfwayThroughAnEnsemble_isARow_andChangesNoState() throws IOException {
    SummingService service = new SummingService();
    int wrong = JobsFixture.CHECKPOINT; // The first behind a checkpoint.
    service.wrongHalfway = wrong;
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.sumRequest("sums", 1), Caller.ANYBODY).spec().id();
      JobStatus ended = JobsFixture.ended(jobs, id);
      assertEquals(JobState.DONE, ended.state(), ended.reason());
      assertEquals(ITEMS, ended.rows());
      assertEquals(1, ended.failed());
    }
    String[] rows = fixture.output("out.jsonl").split("\n", -1);
    assertTrue(rows[wrong].contains("wrong to the next model"), rows[wrong]);
    int last = ITEMS - 1;
    double sum = last * ITEMS / 2.0 - wrong;
    assertTrue(rows[last].contains("[" + sum + "," + 0.5 * last + ","), rows[last]);
    assertEquals(0, service.sequences());
  }

  /** What is lost at the last checkpoint may be lost again at once. */
  @Test
  void stateThatIsLostAtTheEnd_isNotBegunAnewWithoutAPause() throws IOException {
    int items = JobsFixture.CHECKPOINT - 1;
    fixture.writeInput("in.jsonl", items);
    fixture.retryPause = Duration.ofHours(1);
    SummingService service = new SummingService();
    service.failingReads = 1;
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.submit(JobsFixture.sumRequest(1), Caller.ANYBODY).spec().id();
      while (!jobs.show(id).reason().contains("state was lost")) {
        assertFalse(jobs.show(id).state().isEnd(), "it has gone on without a pause");
        Thread.onSpinWait();
      }
      assertEquals(JobState.QUEUED, jobs.show(id).state());
      assertEquals(items, service.steps());
      assertEquals(0, service.sequences(), "it keeps no room meanwhile");
    }
    fixture.retryPause = Duration.ofMillis(1);
    try (Jobs jobs = fixture.open(service)) {
      String id = jobs.list().getFirst().spec().id();
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
      assertEquals(2 * items, service.steps());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void stateWithoutRoom_isWaitedFor(boolean refusesLater) throws IOException {
    SummingService service = new SummingService();
    service.refusals = 3;
    service.refusesLater = refusesLater;
    checkJob(service);
  }

  /** They come before a state, in the middle, and at the end. */
  @Test
  void itemsThatCannotBeRead_changeNoState() throws IOException {
    String bad = "no JSON\n";
    String good = JobsFixture.item(1) + "\n";
    Files.writeString(folder.resolve("in.jsonl"), bad + good + bad + good + bad);
    try (Jobs jobs = fixture.open(new SummingService())) {
      String id = jobs.submit(JobsFixture.sumRequest(1), Caller.ANYBODY).spec().id();
      assertEquals(3, JobsFixture.ended(jobs, id).failed());
    }
    String output = fixture.output("out.jsonl");
    assertTrue(output.contains("{\"item\":3,\"response\""), output);
    assertTrue(output.contains("[2.0,1.0,4.0,6.0]"), output);
  }

  @Test
  void repeatOfAnInputWithoutItems_ends() throws IOException {
    Files.writeString(folder.resolve("in.jsonl"), " \n\n");
    try (Jobs jobs = fixture.open(new SummingService())) {
      String id = jobs.submit(JobsFixture.sumRequest(1_000_000), Caller.ANYBODY).spec().id();
      assertEquals(JobState.DONE, JobsFixture.ended(jobs, id).state());
    }
    assertEquals("", fixture.output("out.jsonl"));
  }

  @Test
  void stateFile_givesBackWhatWasWritten() throws IOException {
    Path file = folder.resolve("state");
    Arena arena = Arena.ofAuto();
    List<InputTensor> tensors =
        List.of(
            new InputTensor(
                "a \"name\"",
                TensorType.FP32,
                Shape.of(1, 2),
                arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2)),
            new InputTensor("none", TensorType.INT64, Shape.of(0, 3), arena.allocate(0)),
            new InputTensor(
                "b",
                TensorType.UINT8,
                Shape.SCALAR,
                arena.allocateFrom(ValueLayout.JAVA_BYTE, (byte) 7)));
    WholeFile.write(file, channel -> StateFile.write(channel, tensors));
    List<InputTensor> read = StateFile.read(file);
    assertEquals(tensors.size(), read.size());
    for (int i = 0; i < read.size(); i++) {
      assertEquals(tensors.get(i).name(), read.get(i).name());
      assertEquals(tensors.get(i).type(), read.get(i).type());
      assertEquals(tensors.get(i).shape(), read.get(i).shape());
      assertArrayEquals(
          tensors.get(i).data().toArray(ValueLayout.JAVA_BYTE),
          read.get(i).data().toArray(ValueLayout.JAVA_BYTE));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "short",
        "no length that a header has",
        "\2\0\0\0\0\0\0\0[]",
        "\101\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}              1234"
      })
  void stateFileThatIsNone_isRefused(String content) throws IOException {
    Path file = folder.resolve("state");
    Files.write(file, content.getBytes(StandardCharsets.ISO_8859_1));
    assertThrows(IOException.class, () -> StateFile.read(file));
  }
}
