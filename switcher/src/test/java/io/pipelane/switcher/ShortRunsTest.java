package io.pipelane.switcher;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.config.section.SchedulingConfig.Policy;
import io.pipelane.config.value.Bandwidth;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.cpu.CpuDevice;
import io.pipelane.lanes.cpu.execution.CpuSessionFactory;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.repository.BatchingOptions;
import io.pipelane.modelstore.repository.BatchingOptions.Mode;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.modelstore.repository.ModelOptions.Limits;
import io.pipelane.runtime.Shape;
import io.pipelane.runtime.TensorType;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import io.pipelane.switcher.kept.Keeper;
import io.pipelane.switcher.kept.KeptOverview;
import io.pipelane.switcher.kept.KeptTensor;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.sharing.gate.OfflineRun;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which runs are made by the thread that brings the request: every one counts as short here. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ShortRunsTest {
  private static final int WIDTH = 16;
  private static final int LAYERS = 2;
  private static final int KNOWN_AFTER = 3;
  private static final int ROWS_TO_KEEP = (int) KeptTensors.LEAST_BYTES / Float.BYTES / WIDTH;

  @TempDir Path folder;
  private @Nullable CpuDevice device;
  private @Nullable Switcher switcher;

  private Switcher open(Policy policy, int shortRunMicros) {
    return open(policy, shortRunMicros, PipelaneConfig.defaults().residency().policy());
  }

  private Switcher open(Policy policy, int shortRunMicros, ResidencyConfig.Policy residency) {
    SchedulingConfig plain = PipelaneConfig.defaults().scheduling();
    SchedulingConfig scheduling =
        new SchedulingConfig(
            policy,
            plain.ageingPercent(),
            plain.fairMeasure(),
            plain.fairWorkConserving(),
            plain.offlineSharePercent(),
            plain.preemption(),
            shortRunMicros,
            plain.leastLanes(),
            plain.restarts());
    CpuDevice opened =
        CpuDevice.open(new ByteSize(1 << 20), new ByteSize(16 << 10), Bandwidth.UNLIMITED);
    DeviceMemory memory = new DeviceMemory(opened.persistent());
    Switcher made =
        new Switcher(
            opened,
            memory,
            new CpuSessionFactory(opened, TestDevices.library(), memory, 1),
            SwitcherSettings.of(1 << 20, 16 << 20, 1, 100, 1 << 20, new EqualBytesGrouping(4, 1))
                .withResidency(ResidencySettings.onDemand(residency))
                .withScheduling(scheduling)
                .withKeptBytes(1 << 20),
            ReadWeights::of);
    device = opened;
    switcher = made;
    return made;
  }

  private Switcher open() {
    return open(Policy.SRTF, Integer.MAX_VALUE);
  }

  @AfterEach
  void everythingIsGivenBack() {
    if (switcher != null && device != null) {
      switcher.verify();
      switcher.close();
      assertEquals(device.pages().total(), device.pages().free());
      device.close();
    }
  }

  private ImportedModel registered(Switcher on, ModelOptions options) throws IOException {
    ImportedModel model = TestImports.of(TestModels.chain(LAYERS, WIDTH, 1), "m", folder);
    on.register(model, options);
    return model;
  }

  private ImportedModel registered(Switcher on) throws IOException {
    return registered(on, ModelOptions.DEFAULT);
  }

  private static InferenceRequest request(ImportedModel model) {
    float[] x = new float[WIDTH];
    x[0] = 1;
    return Call.request(model.version(), x);
  }

  /** A request whose answer is large enough to stay on the device. */
  private static InferenceRequest largeRequest(ImportedModel model) {
    MemorySegment data = Arena.ofAuto().allocate(KeptTensors.LEAST_BYTES, 64);
    Shape shape = Shape.of(ROWS_TO_KEEP, WIDTH);
    return new InferenceRequest(
        model.version(), List.of(new InputTensor("x", TensorType.FP32, shape, data)), List.of("y"));
  }

  /** A request that tells which thread it ran on. */
  private static final class Run implements ResultHandler {
    final Call call = new Call();
    private final CompletableFuture<Thread> thread = new CompletableFuture<>();

    @Override
    public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
      thread.complete(Thread.currentThread());
      return call.place(name, type, shape, byteSize);
    }

    @Override
    public void completed(InferenceTimings timings) {
      call.completed(timings);
    }

    @Override
    public void failed(StatusException error) {
      call.failed(error);
    }

    boolean wasHere() {
      call.await();
      return thread.join().equals(Thread.currentThread());
    }
  }

  private static boolean runsHere(Switcher on, InferenceRequest request) {
    Run run = new Run();
    on.submit(request, run);
    return run.wasHere();
  }

  @Test
  void run_knownAndNothingInItsWay_isMadeByTheCallerWithTheSameAnswer() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    Run first = new Run();
    on.submit(request(model), first);
    float[] expected = first.call.await();
    for (int i = 1; i < KNOWN_AFTER; i++) {
      runsHere(on, request(model));
    }
    Run here = runHere(on, request(model));
    assertTrue(on.shortRuns() > 0);
    assertArrayEquals(expected, here.call.await());
    assertEquals(1, here.call.answers());
  }

  /**
   * Asks until a run is made here: an estimate is told of a run behind its answer, and somebody may
   * have a lock for a moment at any time.
   */
  private static Run runHere(Switcher on, InferenceRequest request) {
    while (true) {
      Run run = new Run();
      InferenceService.Ticket ticket = on.submit(request, run);
      if (run.wasHere()) {
        assertSame(InferenceService.Ticket.ENDED, ticket);
        return run;
      }
    }
  }

  private static void awaitKnown(Switcher on, ImportedModel model) {
    Run _ = runHere(on, request(model));
  }

  @Test
  void run_weightsAreMissing_goesToALaneOnce() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    awaitKnown(on, model);
    on.evict(model.version());
    assertFalse(runsHere(on, request(model)));
    awaitKnown(on, model);
  }

  @Test
  void run_shortRunsAreOff_goesToALane() throws Exception {
    Switcher on = open(Policy.SRTF, 0);
    ImportedModel model = registered(on);
    for (int i = 0; i < 4 * KNOWN_AFTER; i++) {
      assertFalse(runsHere(on, request(model)));
    }
  }

  /** Weights go back as each run ends, which takes time. */
  @Test
  void run_nothingStaysAfterRuns_goesToALane() throws Exception {
    Switcher on = open(Policy.SRTF, Integer.MAX_VALUE, ResidencyConfig.Policy.NOTHING_STAYS);
    ImportedModel model = registered(on);
    for (int i = 0; i < 4 * KNOWN_AFTER; i++) {
      assertFalse(runsHere(on, request(model)));
    }
  }

  @Test
  void run_policyCountsWhatEachModelUses_goesToALane() throws Exception {
    Switcher on = open(Policy.FAIR, Integer.MAX_VALUE);
    ImportedModel model = registered(on);
    for (int i = 0; i < 4 * KNOWN_AFTER; i++) {
      assertFalse(runsHere(on, request(model)));
    }
  }

  @Test
  void run_answersAreToKeepTheirOrder_goesToALane() throws Exception {
    Switcher on = open();
    ModelOptions plain = ModelOptions.DEFAULT;
    BatchingOptions ordered = new BatchingOptions(Mode.NEVER, List.of(), Duration.ZERO, true);
    ImportedModel model =
        registered(
            on,
            new ModelOptions(
                plain.buckets(),
                plain.warmUp(),
                plain.tenant(),
                plain.priority(),
                plain.limits(),
                ordered));
    for (int i = 0; i < 4 * KNOWN_AFTER; i++) {
      assertFalse(runsHere(on, request(model)));
    }
  }

  /** Of runs in lanes and of those that are made here; looks are the monitor's own. */
  @Test
  void run_besideOfflineWork_steersWhatItMayHave() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    ModelOptions plain = ModelOptions.DEFAULT;
    Limits limits =
        new Limits(
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.of(10.0));
    on.agree(
        model,
        new ModelOptions(
            plain.buckets(),
            plain.warmUp(),
            plain.tenant(),
            plain.priority(),
            limits,
            plain.batching()));
    AtomicBoolean stands = new AtomicBoolean();
    OfflineRun offline = stands::get;
    on.sharing().gate().begin(offline);
    while (on.sharing().overview().seen().share() > 0) {
      runsHere(on, request(model));
    }
    stands.set(true);
    while (on.sharing().overview().seen().share() == 0) {
      runsHere(on, request(model));
    }
    on.sharing().gate().end(offline);
    assertEquals(Set.of(model.version()), on.sharing().overview().seen().slowdowns().keySet());
  }

  /** Memory is mapped under that lock, and memory for what is to stay is taken under it. */
  @Test
  void run_whatItMakesIsToStayAndSomebodyHasTheLanesLock_goesByTheHostAtOnce() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    Run _ = runHere(on, largeRequest(model));
    Thread here = Thread.currentThread();
    Lanes lanes = on.parts.working.lanes();
    CountDownLatch hasRun = new CountDownLatch(1);
    AtomicBoolean hasWaited = new AtomicBoolean();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      Keeper keeper =
          new Keeper() {
            @Override
            public Set<ModelVersion> readers(String device, String output) {
              if (!Thread.currentThread().equals(here)) {
                return Set.of(); // Somebody had a lock, and it is asked again.
              }
              CountDownLatch taken = new CountDownLatch(1);
              Runnable untilTheRunIsOver =
                  () -> {
                    taken.countDown();
                    hasWaited.compareAndSet(false, !isDownInTime(hasRun));
                  };
              threads.execute(() -> awaitLane(lanes, untilTheRunIsOver));
              Latches.await(taken);
              return Set.of(model.version());
            }

            @Override
            public void keep(String output, TensorType type, Shape shape, KeptTensor tensor) {
              throw new AssertionError("memory is taken under that lock");
            }
          };
      RunPlace place = RunPlace.ANY.keeping(Optional.of(keeper));
      Run _ = runHere(on, largeRequest(model).at(place));
      assertEquals(Map.of(KeptOverview.Obstacle.FULL, 1L), on.kept().notKept());
      hasRun.countDown();
    }
    assertFalse(hasWaited.get());
  }

  private static boolean isDownInTime(CountDownLatch latch) {
    try {
      return latch.await(5, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      throw new AssertionError("nobody interrupts it", e);
    }
  }

  /** Waits for a lane that somebody is in; does something before that, under the lanes' lock. */
  private static void awaitLane(Lanes lanes, Runnable withTheLock) {
    lanes.enter(lanes.largestLaneBytes(), false, Set.of(), withTheLock).close();
  }

  @Test
  void run_offline_goesToALane() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    awaitKnown(on, model);
    assertFalse(runsHere(on, request(model).offline()));
  }

  @Test
  void run_askedForByTheEndOfAnother_goesToALane() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    awaitKnown(on, model);
    Run second = new Run();
    Thread here = Thread.currentThread();
    boolean wasHere = false;
    while (!wasHere) { // Somebody may have a lock for a moment.
      Run first = new Run();
      on.submit(
          request(model),
          new ResultHandler() {
            @Override
            public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
              return first.place(name, type, shape, byteSize);
            }

            @Override
            public void completed(InferenceTimings timings) {
              if (Thread.currentThread().equals(here)) {
                on.submit(request(model), second);
              }
              first.completed(timings);
            }

            @Override
            public void failed(StatusException error) {
              first.failed(error);
            }
          });
      wasHere = first.wasHere();
    }
    assertFalse(second.wasHere());
  }

  @Test
  void run_fails_isToldOnceAndTheNextIsRight() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    awaitKnown(on, model);
    Call failing = new Call();
    on.submit(
        request(model),
        new ResultHandler() {
          @Override
          public MemorySegment place(String name, TensorType type, Shape shape, long byteSize) {
            throw new StatusException(Status.TOO_LARGE, "no place for it");
          }

          @Override
          public void completed(InferenceTimings timings) {
            failing.completed(timings);
          }

          @Override
          public void failed(StatusException error) {
            failing.failed(error);
          }
        });
    assertEquals(Status.TOO_LARGE, assertThrows(StatusException.class, failing::await).status());
    assertEquals(1, failing.answers());
    awaitKnown(on, model);
  }

  @Test
  void drain_aRunIsUnderWay_waitsForIt() throws Exception {
    Switcher on = open();
    ImportedModel model = registered(on);
    awaitKnown(on, model);
    CountDownLatch ending = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    Run run = new Run();
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      threads.execute(
          () ->
              on.submit(
                  request(model),
                  new ResultHandler() {
                    @Override
                    public MemorySegment place(
                        String name, TensorType type, Shape shape, long byteSize) {
                      return run.place(name, type, shape, byteSize);
                    }

                    @Override
                    public void completed(InferenceTimings timings) {
                      ending.countDown();
                      Latches.await(mayEnd);
                      run.completed(timings);
                    }

                    @Override
                    public void failed(StatusException error) {
                      run.failed(error);
                    }
                  }));
      ending.await();
      assertFalse(on.drain(Duration.ofMillis(1)));
      mayEnd.countDown();
      assertTrue(on.drain(Duration.ofSeconds(30)));
      run.call.await();
      assertEquals(
          Status.UNAVAILABLE,
          assertThrows(StatusException.class, () -> on.submit(request(model), new Run())).status());
    }
  }
}
