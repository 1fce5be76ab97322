package io.pipelane.bench.density;

import io.pipelane.bench.accelerator.Accelerator;
import io.pipelane.bench.accelerator.HeldWeights;
import io.pipelane.config.PipelaneConfig;
import io.pipelane.config.section.ResidencyConfig;
import io.pipelane.config.section.SchedulingConfig;
import io.pipelane.demo.protocol.Tensor;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.modelstore.repository.BatchingOptions;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.switcher.InferenceRequest;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.Grouping;
import io.pipelane.switcher.grouping.PipelineCosts;
import io.pipelane.switcher.grouping.SegmentProfiles;
import io.pipelane.switcher.memory.account.TransferCounters;
import io.pipelane.switcher.residency.ResidencySettings;
import io.pipelane.switcher.simulator.CopyReason;
import io.pipelane.switcher.simulator.Replay;
import io.pipelane.switcher.simulator.TracedUse;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A switcher that answers for variants of one model, one run at a time, first come first served.
 */
final class LiveDevice implements AutoCloseable {
  private static final int QUEUE = 1_000_000;
  private static final long QUEUE_BYTES = 1L << 40;
  private static final int WARMUP = 5;
  private static final int SAMPLES = 30;

  /** So many tell how the longest in a hundred come out. */
  private static final int SAMPLES_IN_LINE = 150;

  private static final long SPIN_NANOS = 60_000;

  /** The simulator does not run requests together. */
  private static final ModelOptions EACH_ALONE =
      new ModelOptions(
          List.of(),
          false,
          "",
          ModelOptions.Priority.ONLINE,
          ModelOptions.DEFAULT.limits(),
          new BatchingOptions(BatchingOptions.Mode.NEVER, List.of(), Duration.ZERO, false));

  private final Accelerator accelerator;
  private final Subject subject;
  private final Switcher switcher;
  private final List<InferenceRequest> requests = new ArrayList<>();
  private final Outputs outputs;
  private long lastNanos = System.nanoTime();

  /** Registers so many variants; none of them is on the device. */
  LiveDevice(
      Accelerator accelerator,
      Subject subject,
      int variants,
      Grouping grouping,
      SegmentProfiles profiles,
      PipelineCosts costs,
      ResidencyConfig residency) {
    this.accelerator = accelerator;
    this.subject = subject;
    this.outputs = new Outputs(accelerator::pinned);
    DeviceMemory memory = new DeviceMemory(accelerator.device().persistent());
    long weightBytes =
        accelerator.device().pages().total() * accelerator.device().pages().pageBytes();
    SchedulingConfig fifo =
        PipelaneConfig.of(Map.of("scheduling.policy", "fifo", "scheduling.preemption", "false"))
            .scheduling();
    switcher =
        new Switcher(
            accelerator.device(),
            memory,
            accelerator.sessions(memory, true),
            SwitcherSettings.of(
                    weightBytes, accelerator.workingBytes(), 1, QUEUE, QUEUE_BYTES, grouping)
                .withProfiles(profiles)
                .withResidency(new ResidencySettings(residency, profiles, Optional.of(costs)))
                .withScheduling(fifo),
            HeldWeights.on(accelerator, model -> subject.weights()));
    List<InputTensor> inputs = subject.inputs().stream().map(this::pinned).toList();
    for (int i = 0; i < variants; i++) {
      switcher.register(subject.variant(i), EACH_ALONE);
      requests.add(new InferenceRequest(subject.version(i), inputs, subject.outputs()));
    }
  }

  private InputTensor pinned(Tensor input) {
    MemorySegment data = accelerator.pinned(input.data().remaining());
    data.copyFrom(MemorySegment.ofBuffer(input.data()));
    return new InputTensor(input.name(), input.type(), input.shape(), data);
  }

  /**
   * Runs that find their weights there, of one variant after another; each begins in its time, and
   * at the end as many stand in line behind one of their own variant.
   */
  void warmRuns(WarmRuns runs, Duration interval) {
    for (int i = 0; i < requests.size() + WARMUP; i++) {
      run(i % requests.size(), interval);
    }
    for (int i = 0; i < SAMPLES; i++) {
      runs.add(run(i % requests.size(), interval));
    }
    for (int i = 0; i < SAMPLES_IN_LINE; i++) {
      runs.addBehind(behindItself(i % requests.size(), interval));
    }
  }

  /**
   * Asks a variant twice at once, when so long has passed since a run was asked for last; answers
   * how long the second's answer came behind the first's, without its stall. Nothing is remapped
   * for a variant behind itself: the simulator adds what that takes.
   */
  long behindItself(int variant, Duration interval) {
    await(interval);
    lastNanos = System.nanoTime();
    Answers two = new Answers(2, outputs, this::bytesLoaded);
    for (int i = 0; i < 2; i++) {
      switcher.submit(requests.get(variant), two.handler(i));
    }
    two.await();
    return two.endNanos(1) - two.endNanos(0) - two.stallNanos(1);
  }

  /** Takes a variant's pages off the device but for so many bytes of the first; waits for that. */
  void evict(int variant, long keptBytes) {
    switcher.evict(subject.version(variant), keptBytes);
    accelerator.settle();
  }

  /**
   * What became of a request.
   *
   * @param stallNanos that its run waited for weights
   * @param computingNanos all the rest of the run
   * @param latencyNanos from its coming to its answer
   */
  @SuppressWarnings("ArrayRecordComponent") // as the run has measured it
  record Run(
      long stallNanos, long computingNanos, long latencyNanos, long @Nullable [] segmentNanos) {}

  /** Returns when so long has passed since a run was asked for last. */
  void await(Duration interval) {
    awaitTime(lastNanos + interval.toNanos());
  }

  /** Asks a variant when so long has passed since a run was asked for last. */
  Run run(int variant, Duration interval) {
    await(interval);
    lastNanos = System.nanoTime();
    Answers answers = new Answers(1, outputs, this::bytesLoaded);
    switcher.submit(requests.get(variant), answers.handler(0));
    answers.await();
    return new Run(
        answers.stallNanos(0),
        answers.executeNanos(0) - answers.stallNanos(0),
        answers.endNanos(0) - lastNanos,
        answers.segmentNanos(0));
  }

  /**
   * Sends a trace's requests when their times have come, whatever became of those before. Stalls
   * are what runs themselves have found that they waited for weights.
   */
  Replay replay(List<TracedUse> trace) {
    Answers answers = new Answers(trace.size(), outputs, this::bytesLoaded);
    TransferCounters before = switcher.transfers();
    long begin = System.nanoTime();
    for (int i = 0; i < trace.size(); i++) {
      awaitTime(begin + trace.get(i).nanos());
      switcher.submit(requests.get(trace.get(i).model()), answers.handler(i));
    }
    answers.await();
    TransferCounters after = switcher.transfers();
    long[] stalls = new long[trace.size()];
    long[] latencies = new long[trace.size()];
    Arrays.setAll(stalls, answers::stallNanos);
    long[] runs = new long[trace.size()];
    Arrays.setAll(runs, answers::executeNanos);
    Arrays.setAll(latencies, i -> answers.endNanos(i) - begin - trace.get(i).nanos());
    int[] models = trace.stream().mapToInt(TracedUse::model).toArray();
    Map<CopyReason, Long> bytes =
        Map.of(
            CopyReason.DEMAND, after.bytesLoaded() - before.bytesLoaded(),
            CopyReason.QUEUED, after.bytesWanted() - before.bytesWanted(),
            CopyReason.IDLE, after.bytesPlanned() - before.bytesPlanned());
    return new Replay(stalls, latencies, runs, answers.missedBytes(), models, bytes);
  }

  private long bytesLoaded() {
    return switcher.transfers().bytesLoaded();
  }

  private static void awaitTime(long nanos) {
    long left = nanos - System.nanoTime();
    while (left > 0) {
      if (left > SPIN_NANOS) {
        LockSupport.parkNanos(left - SPIN_NANOS);
      } else {
        Thread.onSpinWait();
      }
      left = nanos - System.nanoTime();
    }
  }

  @Override
  public void close() {
    switcher.close();
  }
}
