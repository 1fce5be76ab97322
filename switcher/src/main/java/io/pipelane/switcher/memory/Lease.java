package io.pipelane.switcher.memory;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.execution.StopWord;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.modelstore.Plan;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.memory.pages.Arrival;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The right to run a model once: its weights are on the device or on their way, and stay until the
 * lease is closed. Belongs to the thread that runs.
 */
public final class Lease implements WeightArrivals, AutoCloseable {
  private final Leasing leasing;
  private final Residency residency;
  private final StructureRange range;
  private final List<Arrival> arrivals;
  private final Consumer<Lease> release;
  private final LongSupplier nanoClock;
  private final Priority priority;
  private int awaited;
  private int handedOut;
  private long stallNanos;
  private boolean failed;
  private volatile RunControl control;
  private volatile boolean makesWay; // Written under the daemon's lock, as the next is.
  private volatile boolean makesWayAtOnce;
  private int segmentsAhead = ALL;
  private long @Nullable [] segmentNanos;
  private LongSupplier usualNanos = () -> 0;

  /**
   * Opens a lease.
   *
   * @param leasing told when its run does not end
   * @param priority of the run
   * @param control hears for it until somebody else does
   * @param release told when it is closed
   */
  Lease(
      Leasing leasing,
      Residency residency,
      Priority priority,
      RunControl control,
      Consumer<Lease> release,
      LongSupplier nanoClock) {
    this.leasing = leasing;
    this.residency = residency;
    this.range = residency.range();
    this.arrivals = List.copyOf(residency.arrivals);
    this.priority = priority;
    this.control = control;
    this.release = release;
    this.nanoClock = nanoClock;
  }

  Residency residency() {
    return residency;
  }

  /**
   * A run begins, or begins anew in another lane, whose stream has not waited for anything yet: all
   * that has not arrived is handed out again.
   */
  public void begin() {
    handedOut = 0;
  }

  @Override
  public void await(int segment) {
    long end = endOf(segment);
    while (awaited < arrivals.size() && arrivals.get(awaited).begin() < end) {
      await(arrivals.get(awaited).event());
      awaited++;
    }
  }

  @Override
  public List<DeviceEvent> before(int segment) {
    if (handedOut == arrivals.size()) {
      return List.of();
    }
    long end = endOf(segment);
    List<DeviceEvent> events = new ArrayList<>();
    while (handedOut < arrivals.size() && arrivals.get(handedOut).begin() < end) {
      DeviceEvent event = arrivals.get(handedOut).event();
      if (event.isDone()) {
        await(event); // Throws when it has failed: nothing may compute with what is not there.
      } else {
        events.add(event);
      }
      handedOut++;
    }
    return events;
  }

  private long endOf(int segment) {
    Plan plan = residency.model.plan();
    return segment < plan.segments().size() ? plan.segments().get(segment).end() : 0;
  }

  /**
   * Has somebody say when the run's segments may be computed.
   *
   * @param ahead see {@link #segmentsAhead}
   */
  public void controlledBy(RunControl somebody, int ahead) {
    control = somebody;
    segmentsAhead = ahead;
    if (makesWay) {
      somebody.makeWay(makesWayAtOnce);
    }
  }

  /** Has its run make way; see {@link RunControl#makeWay}. Under the daemon's lock. */
  void makeWay(boolean atOnce) {
    makesWayAtOnce |= atOnce;
    makesWay = true;
    control.makeWay(makesWayAtOnce);
  }

  /**
   * Says that the run was ended, and that its process does not end and keeps the weights: until the
   * lease is closed, nobody is kept waiting for it.
   *
   * @param reason why it was ended
   */
  public void markStuck(String reason) {
    leasing.stuck(this, reason);
  }

  /** Whether its run has been told to make way. */
  boolean makesWay() {
    return makesWay;
  }

  /** Whether its run comes to a gate by itself, and ends there if it is to make way. */
  boolean comesToGate() {
    return !control.isBlocked();
  }

  /** Whether its run is offline work. */
  public boolean isOffline() {
    return priority == Priority.OFFLINE;
  }

  /** Who says when the run may compute. */
  public RunControl control() {
    return control;
  }

  @Override
  public int segmentsAhead() {
    return segmentsAhead;
  }

  @Override
  public void giveWay(int segment) {
    control.beforeSegment(segment);
  }

  @Override
  public void awaitsProcess() {
    control.awaitsProcess();
  }

  @Override
  public Elsewhere computesElsewhere(StopWord word) {
    return control.computesElsewhere(word);
  }

  @Override
  public Here computesHere(Consumer<StatusException> end) {
    return control.computesHere(end);
  }

  /** How many segments the run has. */
  public int segments() {
    return residency.model.plan().segments().size();
  }

  @Override
  public void stalled(long nanos) {
    stallNanos += nanos;
  }

  @Override
  public void computed(long[] nanos) {
    segmentNanos = nanos;
  }

  /** Has somebody say how long such runs compute, if they are asked. */
  public void usuallyTakes(LongSupplier nanos) {
    usualNanos = nanos;
  }

  @Override
  public long usualNanos() {
    return usualNanos.getAsLong();
  }

  /** How long each of the run's segments computed, null unless its session has told; only read. */
  public long @Nullable [] segmentNanos() {
    return segmentNanos;
  }

  private void await(DeviceEvent event) {
    boolean there = event.isDone();
    long begin = there ? 0 : nanoClock.getAsLong();
    failed = true;
    event.await();
    failed = false;
    stallNanos += there ? 0 : nanoClock.getAsLong() - begin;
  }

  /** Whether it has been found that the weights could not be brought in. */
  public boolean failed() {
    return failed;
  }

  /**
   * Blocks until every weight has arrived.
   *
   * @throws StatusException when they could not be brought in
   */
  public void awaitAll() {
    await(residency.model.plan().segments().size() - 1);
  }

  /** Where the weights lie, for as long as the lease is open. */
  public StructureRange range() {
    return range;
  }

  /** Time spent waiting for weights so far. */
  public long stallNanos() {
    return stallNanos;
  }

  @Override
  public void close() {
    release.accept(this);
  }
}
