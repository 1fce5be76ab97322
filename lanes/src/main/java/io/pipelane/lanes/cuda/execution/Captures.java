package io.pipelane.lanes.cuda.execution;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.lanes.execution.InputTensor;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The captured forms of one session, the one least recently used first. Belongs to its lane's
 * thread; what it tells about itself is for any.
 */
final class Captures implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Captures.class.getName());

  /** A captured form, what is known of it, and its times. */
  record Entry(CapturedRun run, Capture capture, RunTimes times) {}

  private final String model;
  private final CaptureSettings settings;
  private final CapturePolicy policy;
  private final CaptureBuilder builder;
  private final CaptureCheck check;
  private final CudaLane lane;
  private final ReentrantLock building;
  private final Map<CaptureKey, Entry> entries = new LinkedHashMap<>(16, 0.75f, true);
  private volatile List<Capture> known = List.of();

  /**
   * No captures yet.
   *
   * @param model in log messages
   * @param building held while a session is built or closed on this device: its copies must not
   *     fall into a capture of the same stream, nor its waiting for the device end one
   */
  Captures(
      String model,
      CaptureSettings settings,
      CaptureBuilder builder,
      CaptureCheck check,
      CudaLane lane,
      ReentrantLock building) {
    this.model = model;
    this.settings = settings;
    this.policy = new CapturePolicy(settings);
    this.builder = builder;
    this.check = check;
    this.lane = lane;
    this.building = building;
  }

  /** The captured form for exact shapes, and the address that they are read in place at. */
  @Nullable Entry find(CaptureKey key) {
    return entries.get(key);
  }

  /** Counts a request that no capture serves; true when it is time to capture its shapes. */
  boolean areDue(CaptureKey key) {
    return policy.requested(key, entries.size() >= settings.maximumCaptures());
  }

  /**
   * Captures the shapes of a request that has just been answered; never fails.
   *
   * @param inputs of the request; its weights are all there
   */
  void capture(CaptureKey key, List<InputTensor> inputs, MemoryTarget.Growth growth) {
    if (!building.tryLock()) {
      return;
    }
    try {
      captureAndCheck(key, inputs, growth);
    } catch (OutOfDeviceMemoryException e) {
      policy.postponed(key);
    } catch (RuntimeException e) {
      if (e instanceof StatusException known && known.status() == Status.INSUFFICIENT_MEMORY) {
        policy.postponed(key);
      } else {
        policy.failed(String.valueOf(e.getMessage()));
        LOG.log(Level.WARNING, "{0} was not captured: {1}", model, e.getMessage());
      }
    } finally {
      building.unlock();
    }
  }

  private void captureAndCheck(
      CaptureKey key, List<InputTensor> inputs, MemoryTarget.Growth growth) {
    try (Arena arena = Arena.ofConfined()) {
      Optional<CaptureCheck.Cases> cases = check.prepare(inputs, growth, arena);
      if (cases.isEmpty()) {
        policy.postponed(key);
        return;
      }
      long before = lane.frameworkBytes();
      CapturedRun run = builder.capture(inputs, growth);
      try {
        RunTimes times = new RunTimes();
        check.verify(run, cases.get(), growth, times, arena);
        long held = lane.frameworkGrowth(before);
        Capture capture = builder.measure(key.shapes(), run, held, growth);
        makeRoom();
        entries.put(key, new Entry(run, capture, times));
        policy.captured(key);
        publish();
      } catch (RuntimeException e) {
        run.close();
        throw e;
      }
    }
  }

  private void makeRoom() {
    Iterator<Entry> oldest = entries.values().iterator();
    while (entries.size() >= settings.maximumCaptures()) {
      oldest.next().run().close();
      oldest.remove();
    }
  }

  private void publish() {
    known = entries.values().stream().map(Entry::capture).toList();
  }

  /** Gives up capturing for good. */
  void refuse(String reason) {
    policy.refused(reason);
  }

  /** Gives up capturing until it is resumed. */
  void suspend(String reason) {
    policy.suspended(reason);
  }

  /** Captures again, unless it was given up for good. */
  void resume() {
    policy.resumed();
  }

  /** What is captured at present. */
  List<Capture> known() {
    return known;
  }

  /** See {@link CaptureNotes}; for any thread. */
  List<String> notes() {
    return CaptureNotes.of(settings, known, policy.refusal());
  }

  /** Drops all captures; shapes that are asked for again are captured again. */
  void clear() {
    entries.values().forEach(entry -> entry.run().close());
    entries.clear();
    publish();
  }

  @Override
  public void close() {
    clear();
  }
}
