package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.schedule.turn.Preemptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Runs on the processor that give way at their gates, where one computes at a time. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PreemptionTest {
  private static final int WIDTH = 64;
  private static final int LAYERS = 8;
  private static final int SHORT_LAYERS = 4;
  private static final int STOP = 3;
  private static final int NOWHERE = -1;
  private static final int WARM_RUNS = 50;
  private static final long LONG_SEGMENT_NANOS = 50_000_000;
  private static final long MODEL_BYTES = (long) LAYERS * WIDTH * WIDTH * Float.BYTES;

  @TempDir Path folder;
  private final CpuDevice device =
      CpuDevice.open(new ByteSize(2 * MODEL_BYTES), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
  private final List<String> segments = Collections.synchronizedList(new ArrayList<>());
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final CountDownLatch goOn = new CountDownLatch(1);
  private volatile int stop = NOWHERE;
  private final CountDownLatch shortGoesOn = new CountDownLatch(1);
  private volatile boolean shortWaits;
  private volatile long longSegmentNanos;
  private volatile Runnable atSecondStop = () -> {};

  @AfterEach
  void everythingIsGivenBack() {
    assertEquals(0, device.persistent().usedBytes());
    assertEquals(device.pages().total(), device.pages().free());
    device.close();
  }

  private Switcher open(long weightBytes, String policy) {
    return open(weightBytes, Map.of("scheduling.policy", policy));
  }

  private Switcher open(long weightBytes, Map<String, String> settings) {
    return WatchedSegments.switcher(device, weightBytes, settings, this::before);
  }

  /** Stops the long run at a gate until the test says so, and a short one that is to wait. */
  private void before(String model, int segment) {
    segments.add(model + " " + segment);
    if (model.equals("short") && shortWaits) {
      Latches.await(shortGoesOn);
    }
    long begin = System.nanoTime();
    while (model.equals("long") && System.nanoTime() - begin < longSegmentNanos) {
      Thread.onSpinWait();
    }
    if (model.equals("long") && segment == stop && stopped.getCount() == 0) {
      atSecondStop.run();
    } else if (model.equals("long") && segment == stop) {
      stopped.countDown();
      Latches.await(goOn);
    }
  }

  private ImportedModel registered(Switcher switcher, String name, int layers) throws IOException {
    ImportedModel model = TestImports.of(TestModels.chain(layers, WIDTH, layers), name, folder);
    switcher.register(model);
    return model;
  }

  private static Call submit(Switcher switcher, ImportedModel model, Priority priority) {
    Call call = new Call();
    Ticket _ = submit(switcher, model, priority, call);
    return call;
  }

  private static Ticket submit(
      Switcher switcher, ImportedModel model, Priority priority, Call call) {
    Random random = new Random(1);
    float[] x = new float[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      x[i] = (float) random.nextGaussian();
    }
    InferenceRequest request = Call.request(model.version(), x);
    return switcher.submit(
        new InferenceRequest(
            request.model(), request.inputs(), request.outputs(), OptionalLong.empty(), priority),
        call);
  }

  private static float[] infer(Switcher switcher, ImportedModel model) {
    return submit(switcher, model, Priority.ONLINE).await();
  }

  /** Runs the long model, and the short one while that is at a gate; tells what was computed. */
  private List<String> interleaved(Switcher switcher, Priority priority) throws Exception {
    return interleaved(switcher, priority, registered(switcher, "long", LAYERS), STOP);
  }

  private List<String> interleaved(
      Switcher switcher, Priority priority, ImportedModel longer, int where) throws Exception {
    ImportedModel shorter = registered(switcher, "short", SHORT_LAYERS);
    float[] expectedOfLong = infer(switcher, longer);
    float[] expectedOfShort = infer(switcher, shorter);
    segments.clear();
    stop = where;
    Call first = submit(switcher, longer, priority);
    stopped.await();
    Call second = submit(switcher, shorter, Priority.ONLINE);
    goOn.countDown();
    assertArrayEquals(expectedOfShort, second.await());
    assertArrayEquals(expectedOfLong, first.await());
    switcher.verify();
    return List.copyOf(segments);
  }

  private static List<String> all(String model, int begin, int end) {
    return IntStream.range(begin, end).mapToObj(segment -> model + " " + segment).toList();
  }

  @SafeVarargs
  private static List<String> joined(List<String>... parts) {
    List<String> all = new ArrayList<>();
    for (List<String> part : parts) {
      all.addAll(part);
    }
    return all;
  }

  @Test
  void offlineRun_requestComes_givesWayAtTheGateAndGoesOnWhereItWas() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, "srtf")) {
      List<String> computed = interleaved(switcher, Priority.OFFLINE);
      assertEquals(
          joined(
              all("long", 0, STOP + 1),
              all("short", 0, SHORT_LAYERS),
              all("long", STOP + 1, LAYERS)),
          computed,
          "nothing is computed twice, and the short one comes at the gate");
      Preemptions preemptions = switcher.preemptions();
      assertEquals(1, preemptions.runs());
      assertEquals(1, preemptions.requests());
    }
  }

  /** Behind its last weight a run has gates too: it gives way at the next one, as ever. */
  @Test
  void offlineTrainingStep_requestComesOnTheWayBack_startsWithinOneSegment() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, "srtf")) {
      ImportedModel step =
          TestImports.byTime(TestModels.thereAndBack(LAYERS, WIDTH, LAYERS), "long", folder);
      switcher.register(step);
      List<Plan.Segment> parts = step.plan().segments();
      int where = parts.size() - STOP;
      assertTrue(parts.subList(where, parts.size()).stream().allMatch(it -> it.byteSize() == 0));
      List<String> computed = interleaved(switcher, Priority.OFFLINE, step, where);
      assertEquals(
          joined(
              all("long", 0, where + 1),
              all("short", 0, SHORT_LAYERS),
              all("long", where + 1, parts.size())),
          computed);
      assertEquals(1, switcher.preemptions().requests());
    }
  }

  @Test
  void fifo_requestsOfOneKind_comeToTheirEnd() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, "fifo")) {
      List<String> computed = interleaved(switcher, Priority.ONLINE);
      assertEquals(joined(all("long", 0, LAYERS), all("short", 0, SHORT_LAYERS)), computed);
      assertEquals(0, switcher.preemptions().runs());
    }
  }

  /** Held at the gate, the offline run keeps its thread; another answers. */
  @Test
  void offlineRun_withoutPreemption_isHeldAndTheRequestAnswered() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, Map.of("scheduling.preemption", "false"))) {
      List<String> computed = interleaved(switcher, Priority.OFFLINE);
      assertEquals(LAYERS + SHORT_LAYERS, computed.size(), computed.toString());
      assertEquals("long " + (LAYERS - 1), computed.getLast());
    }
  }

  /** The short one waits for pages that the long one has, which goes on or makes way. */
  @Test
  void offlineRun_weightsOfTheRequestDoNotFitBesideIt_bothComeToTheirEnd() throws Exception {
    try (Switcher switcher = open(MODEL_BYTES, "srtf")) {
      ImportedModel longer = registered(switcher, "long", LAYERS);
      for (int i = 0; i < WARM_RUNS; i++) {
        float[] _ =
            infer(switcher, longer); // Once it is known to take less, it is as good as done.
      }
      List<String> computed = interleaved(switcher, Priority.OFFLINE, longer, STOP);
      List<String> inTurn = joined(all("long", 0, LAYERS), all("short", 0, SHORT_LAYERS));
      List<String> anew = // On a busy machine it takes too long to be as good as done.
          joined(all("long", 0, STOP + 1), all("short", 0, SHORT_LAYERS), all("long", 0, LAYERS));
      assertTrue(List.of(inTurn, anew).contains(computed), computed::toString);
    }
  }

  /** Memory holds one of two models, and the longer run has just begun. */
  private List<String> oneModelFits(Switcher switcher) throws Exception {
    longSegmentNanos = LONG_SEGMENT_NANOS;
    ImportedModel longer = registered(switcher, "long", LAYERS);
    return interleaved(switcher, Priority.ONLINE, longer, 1);
  }

  @Test
  void srtf_weightsOfAShorterDoNotFitBesideTheRun_endsAtTheGateAndBeginsAnew() throws Exception {
    Map<String, String> settings = Map.of("scheduling.policy", "srtf", "scheduling.restarts", "2");
    try (Switcher switcher = open(MODEL_BYTES, settings)) {
      assertEquals(
          joined(all("long", 0, 2), all("short", 0, SHORT_LAYERS), all("long", 0, LAYERS)),
          oneModelFits(switcher));
      assertEquals(1, switcher.preemptions().madeWay());
    }
  }

  @Test
  void srtf_noRunIsToBeginAnew_bothComeToTheirEnd() throws Exception {
    Map<String, String> settings = Map.of("scheduling.policy", "srtf", "scheduling.restarts", "0");
    try (Switcher switcher = open(MODEL_BYTES, settings)) {
      assertEquals(
          joined(all("long", 0, LAYERS), all("short", 0, SHORT_LAYERS)), oneModelFits(switcher));
      assertEquals(0, switcher.preemptions().madeWay());
    }
  }

  /** The second finds that the run has begun anew as often as it may, and waits for its end. */
  @Test
  void srtf_oneShorterAfterAnother_runBeginsAnewSoOftenAtMost() throws Exception {
    Map<String, String> settings = Map.of("scheduling.policy", "srtf", "scheduling.restarts", "1");
    try (Switcher switcher = open(MODEL_BYTES, settings)) {
      longSegmentNanos = LONG_SEGMENT_NANOS;
      ImportedModel longer = registered(switcher, "long", LAYERS);
      ImportedModel shorter = registered(switcher, "short", SHORT_LAYERS);
      float[] expected = infer(switcher, longer);
      float[] _ = infer(switcher, shorter);
      segments.clear();
      stop = 1;
      Call run = submit(switcher, longer, Priority.ONLINE);
      stopped.await();
      Call first = submit(switcher, shorter, Priority.ONLINE);
      Call second = new Call();
      atSecondStop =
          () -> {
            Ticket _ = submit(switcher, shorter, Priority.ONLINE, second);
          };
      goOn.countDown();
      float[] _ = first.await();
      assertArrayEquals(expected, run.await());
      float[] _ = second.await();
      assertEquals(
          joined(
              all("long", 0, 2),
              all("short", 0, SHORT_LAYERS),
              all("long", 0, LAYERS),
              all("short", 0, SHORT_LAYERS)),
          List.copyOf(segments));
      assertEquals(1, switcher.preemptions().madeWay());
      assertEquals(1, run.answers());
    }
  }

  /**
   * An offline run that stands at its gate while a request computes, and as long as the test says.
   */
  private record Held(ImportedModel model, Call run, Ticket ticket, Call request) {}

  private Held held(Switcher switcher) throws Exception {
    ImportedModel longer = registered(switcher, "long", LAYERS);
    ImportedModel shorter = registered(switcher, "short", SHORT_LAYERS);
    float[] _ = infer(switcher, longer);
    float[] _ = infer(switcher, shorter);
    segments.clear();
    stop = STOP;
    Call run = new Call();
    Ticket ticket = submit(switcher, longer, Priority.OFFLINE, run);
    stopped.await();
    shortWaits = true;
    Call request = submit(switcher, shorter, Priority.ONLINE);
    goOn.countDown();
    while (!segments.contains("short 0")) {
      Thread.onSpinWait();
    }
    return new Held(longer, run, ticket, request);
  }

  private static Status failure(Call call) {
    return assertThrows(StatusException.class, call::await).status();
  }

  /** Whoever unloads a model does not wait until the others' requests have been answered. */
  @Test
  void deregister_offlineRunIsHeldAtItsGate_endsItAndDoesNotWait() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, "srtf")) {
      Held held = held(switcher);
      switcher.deregister(held.model.version());
      assertEquals(0, held.request.answers(), "online work goes on");
      assertEquals(Status.UNAVAILABLE, failure(held.run), "it has been taken");
      shortGoesOn.countDown();
      float[] _ = held.request.await();
      assertEquals(all("long", 0, STOP + 1), segments.subList(0, STOP + 1));
      assertEquals(all("short", 0, SHORT_LAYERS), segments.subList(STOP + 1, segments.size()));
      switcher.verify();
    }
  }

  @Test
  void cancel_offlineRunThatIsHeld_endsItAndFreesItsLane() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, "srtf")) {
      Held held = held(switcher);
      held.ticket.withdraw();
      assertEquals(0, held.run.answers(), "it has begun");
      held.ticket.cancel();
      assertEquals(Status.CANCELLED, failure(held.run));
      switcher.evict(held.model.version()); // Which waits for runs of it.
      assertEquals(0, held.request.answers());
      shortGoesOn.countDown();
      float[] _ = held.request.await();
      assertEquals(STOP + 1 + SHORT_LAYERS, segments.size(), segments.toString());
      stop = NOWHERE;
      float[] _ = infer(switcher, held.model);
    }
  }

  @Test
  void cancel_runThatComputes_endsAtItsNextGate() throws Exception {
    try (Switcher switcher = open(2 * MODEL_BYTES, "srtf")) {
      ImportedModel longer = registered(switcher, "long", LAYERS);
      float[] expected = infer(switcher, longer);
      segments.clear();
      stop = STOP;
      Call run = new Call();
      Ticket ticket = submit(switcher, longer, Priority.ONLINE, run);
      stopped.await();
      ticket.cancel();
      goOn.countDown();
      assertEquals(Status.CANCELLED, failure(run));
      assertEquals(all("long", 0, STOP + 1), List.copyOf(segments));
      stop = NOWHERE;
      assertArrayEquals(expected, infer(switcher, longer));
    }
  }
}
