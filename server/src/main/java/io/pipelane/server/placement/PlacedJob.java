package io.pipelane.server.placement;

import io.pipelane.cluster.profile.Profiler;
import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.InferenceTimings;
import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** An offline job that has a device. Methods that are public are for any thread, and at once. */
public final class PlacedJob {
  /*
   * Profiled are the job's first iterations after the first, which brings weights and builds a
   * session. The device is the job's own while nothing online computes, so the time left is what
   * its iterations took, and the share of that in which they computed is its utilisation. Looks are
   * left out where the job waited, or its device held it, between them.
   */

  /** MuxFlow's "few iterations". */
  static final int PROFILED_ITEMS = 16;

  /** Of the time: with less left to it, a look tells nothing of the job. */
  private static final double LEAST_LEFT = 0.1;

  private final JobPlacement placement;
  private final ModelVersion model;
  private final LongAdder items = new LongAdder();
  private final LongAdder runNanos = new LongAdder();
  private final Profiler profiler = new Profiler();
  private volatile JobPlace place;
  private volatile boolean mustMove;
  private volatile boolean isFirstAwaited;
  private volatile boolean waits;
  private volatile boolean hasWaited;

  // Guarded by the placement's lock.
  @Nullable DeviceSlot slot;
  @Nullable DeviceSlot target;

  /** Devices whose memory it never fits. */
  final Set<String> tooSmall = new HashSet<>();

  Optional<WorkloadProfile> profile;

  /** When it was told to move, later by what it waited for a device. */
  long toldNanos;

  long vacatedNanos;
  private double whileBusy = 1;
  private long lookedNanos;
  private long lookedItems;
  private long lookedRunNanos;
  private long arrivedItems;
  private boolean isHeld;
  private long intervalItems;
  private boolean isWholeInterval;

  PlacedJob(
      JobPlacement placement,
      ModelVersion model,
      Optional<WorkloadProfile> profile,
      JobPlace place) {
    this.placement = placement;
    this.model = model;
    this.profile = profile;
    this.place = place;
  }

  /** Where it runs, or ran last while it moves. */
  public JobPlace place() {
    return place;
  }

  /** Whether it is to leave its device with all that it has done, and to {@link #settle}. */
  public boolean mustMove() {
    return mustMove;
  }

  /**
   * Leaves the device that it is to leave, and takes the one that it is to have; nothing of it may
   * be under way.
   *
   * @return whether it has a device; asked again otherwise
   */
  public boolean settle() {
    return !mustMove || placement.settle(this);
  }

  /**
   * Its device has too little memory for it, whatever else is there.
   *
   * @return whether it is to move to another one, which may have enough
   */
  public boolean neverFits() {
    return placement.neverFits(this);
  }

  /** One of its items was answered. */
  public void ran(InferenceTimings timings) {
    items.increment();
    runNanos.add(timings.computedNanos());
    if (isFirstAwaited) {
      isFirstAwaited = false;
      placement.firstAnswered(this);
    }
  }

  /** It waits for something but its iterations from now on, or no more. */
  public void waits(boolean now) {
    waits = now;
    if (now) {
      hasWaited = true;
    }
  }

  /** It has ended, or is left until the next start. */
  public void leave() {
    placement.leave(this);
  }

  ModelVersion model() {
    return model;
  }

  /** What its profile is kept by. */
  String workload() {
    return model.toString();
  }

  /** It is to go to a device, or to any that takes it. */
  void tell(@Nullable DeviceSlot to, long nowNanos) {
    target = to;
    if (to != null) {
      to.next = this;
    }
    toldNanos = nowNanos;
    mustMove = true;
  }

  /**
   * The device that it is to go to is not for it.
   *
   * @param staysHere whether it is to stay where it is, not to go to any other
   */
  void giveTargetUp(boolean staysHere) {
    target = null;
    mustMove = !staysHere;
  }

  /** Whether it has left its device and waits for any. */
  boolean isDisplaced() {
    return slot == null && target == null;
  }

  /** It stays where it is, and is predicted to do so well there. */
  void stays(JobPlace.By by, double predicted) {
    place = new JobPlace(place.device(), by, predicted, place.moves());
  }

  /** It has a device. */
  void arrived(DeviceSlot at, JobPlace.By by, double predicted, long nowNanos) {
    at.job = this;
    at.next = null;
    slot = at;
    target = null;
    boolean isMoved = !at.name.equals(place.device());
    place = new JobPlace(at.name, by, predicted, place.moves() + (isMoved ? 1 : 0));
    isWholeInterval = false;
    isFirstAwaited = mustMove;
    mustMove = false;
    toldNanos += nowNanos - vacatedNanos;
    isHeld = false;
    lookedNanos = nowNanos;
    lookedItems = items.sum();
    lookedRunNanos = runNanos.sum();
    arrivedItems = lookedItems;
  }

  /**
   * Looks at what it has done since the last look.
   *
   * @param onlineBusy of the time since then, that in which its device had online work
   * @param device as it is now
   * @return the profile, when it has just become known
   */
  Optional<WorkloadProfile> look(double onlineBusy, DeviceReading device, long nowNanos) {
    long done = items.sum();
    long ran = runNanos.sum();
    long left = (long) ((nowNanos - lookedNanos) * (1 - onlineBusy));
    boolean wasHeld = isHeld;
    isHeld = !device.takesJobs();
    boolean isAtWork = !wasHeld && !isHeld && !hasWaited && !mustMove;
    hasWaited = waits;
    boolean tells =
        isAtWork
            && profile.isEmpty()
            && lookedItems > arrivedItems
            && left > 0
            && 1 - onlineBusy >= LEAST_LEFT;
    if (tells) {
      if (onlineBusy == 0) {
        whileBusy = device.whileBusy();
        device.occupancy().ifPresent(profiler::occupied);
      }
      Duration time = Duration.ofNanos(left);
      profiler.looked(time, Duration.ofNanos(ran - lookedRunNanos), whileBusy);
      profiler.ran(time, done - lookedItems);
    }
    lookedNanos = nowNanos;
    lookedItems = done;
    lookedRunNanos = ran;
    if (!tells || profiler.runs() < PROFILED_ITEMS) {
      return Optional.empty();
    }
    profile = profiler.profile();
    return profile;
  }

  /**
   * Its throughput over that of its own alone, in the interval that ends, where it had the same
   * device from the beginning of that and was profiled.
   */
  Optional<Double> throughput(Duration interval) {
    boolean isKnown = isWholeInterval && !mustMove && profile.isPresent();
    double done = (double) items.sum() - intervalItems;
    return isKnown
        ? profile.map(
            alone -> Math.min(1, done * alone.separateMillis() * 1e6 / interval.toNanos()))
        : Optional.empty();
  }

  void beginInterval() {
    isWholeInterval = slot != null;
    intervalItems = items.sum();
  }
}
