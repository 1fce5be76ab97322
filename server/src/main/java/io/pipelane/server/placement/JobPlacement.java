package io.pipelane.server.placement;

import io.pipelane.cluster.placement.OfflineJob;
import io.pipelane.cluster.placement.OfflinePlacement;
import io.pipelane.cluster.placement.OnlineDevice;
import io.pipelane.cluster.placement.Placement;
import io.pipelane.cluster.profile.WorkloadProfile;
import io.pipelane.cluster.speed.MeasuredPair;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.metrics.PlacementCounts;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The choice of the device on which each offline job runs, one at most on each (MuxFlow §3, §5). A
 * job that begins gets a healthy device; a matching now and then may move it. {@link #look} belongs
 * to one thread, everything else is for any.
 */
public final class JobPlacement implements AutoCloseable {
  /*
   * A job that is to move keeps its device until it has left it, and nobody else takes the one that
   * it goes to. So two jobs can change places: each gives up its own device before it waits for the
   * other's. Where that comes to nothing before the other has left, both stay.
   *
   * Whatever writes files is done without the lock: jobs begin under it.
   */
  private static final System.Logger LOG = System.getLogger(JobPlacement.class.getName());

  private static final Duration LOOK = Duration.ofSeconds(1);

  /** Of the interval: a gain below that is noise. */
  private static final long LEAST_GAIN = 50;

  /** Of the interval: what took longer was held up, and a move does not cost that. */
  private static final long MOST_MOVE = 4;

  private final ReentrantLock lock = new ReentrantLock();
  private final PlacementSettings settings;
  private final Supplier<List<DeviceReading>> readings;
  private final LongSupplier nanoClock;
  private final Experience experience;
  private final DeviceSlots slots;
  private final MisplacedJobs misplaced;
  private final List<PlacedJob> jobs = new ArrayList<>(); // In the order in which they began.
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("placement").factory());
  private volatile Runnable whenChanged = () -> {};
  private long matchedNanos;
  private long moveNanos;
  private long matchings;
  private long moves;

  private JobPlacement(
      PlacementSettings settings,
      Supplier<List<DeviceReading>> readings,
      Function<ModelVersion, List<String>> able,
      LongSupplier nanoClock,
      Experience experience) {
    this.settings = settings;
    this.readings = readings;
    this.nanoClock = nanoClock;
    this.experience = experience;
    this.matchedNanos = nanoClock.getAsLong();
    this.slots = new DeviceSlots(readings.get(), able, experience);
    this.misplaced = new MisplacedJobs(slots);
  }

  /**
   * Opens what was learnt of workloads. Nothing is looked at before {@link #look} or {@link
   * #start}.
   *
   * @param readings what is seen of all devices, always the same ones in the same order
   * @param able the devices that can answer for a model, by name; none where that is not known, or
   *     where no device can: then requests say why, wherever they are sent
   */
  public static JobPlacement open(
      PlacementSettings settings,
      Supplier<List<DeviceReading>> readings,
      Function<ModelVersion, List<String>> able,
      LongSupplier nanoClock)
      throws IOException {
    Experience experience = Experience.open(settings.folder(), settings.gpuType());
    return new JobPlacement(settings, readings, able, nanoClock, experience);
  }

  /** Has somebody told, by the thread that looks, that devices may have become free. */
  public void onChange(Runnable listener) {
    whenChanged = listener;
  }

  /** Looks every second from now on. */
  public void start() {
    var _ =
        thread.scheduleWithFixedDelay(this::lookSafely, 0, LOOK.toNanos(), TimeUnit.NANOSECONDS);
  }

  private void lookSafely() {
    try {
      look();
    } catch (Throwable e) { // The next look is not to blame, and would not come.
      LOG.log(Level.ERROR, "placement of offline jobs failed; they stay where they are", e);
    }
  }

  /** Looks at devices and jobs once, and matches them when it is time. */
  public void look() {
    List<DeviceReading> now = readings.get();
    Map<String, WorkloadProfile> profiled = new HashMap<>();
    List<MeasuredPair> pairs = List.of();
    boolean isDue;
    lock.lock();
    try {
      long nanos = nanoClock.getAsLong();
      now.forEach(reading -> slots.of(reading.name()).look(reading, nanos));
      jobs.forEach(job -> look(job, nanos, profiled));
      isDue = nanos - matchedNanos >= settings.interval().toNanos();
      if (isDue) {
        pairs = pairs(Duration.ofNanos(nanos - matchedNanos));
      }
    } finally {
      lock.unlock();
    }
    experience.profiled(profiled);
    if (isDue) {
      match();
    }
    whenChanged.run();
    experience.reached(pairs);
  }

  private void look(PlacedJob job, long nanos, Map<String, WorkloadProfile> profiled) {
    @Nullable DeviceSlot slot = job.slot;
    if (slot == null) {
      return;
    }
    job.look(slot.online.busyTime(), slot.reading(), nanos)
        .ifPresent(profile -> profiled.put(job.workload(), profile));
    if (!slot.reading().usable() && !job.mustMove()) {
      job.tell(null, nanos);
    } else if (misplaced.has(job)) {
      misplaced.leadAway(job, slot, nanos);
    }
  }

  /** What was reached in the interval that ends. */
  private List<MeasuredPair> pairs(Duration interval) {
    List<MeasuredPair> pairs = new ArrayList<>();
    for (PlacedJob job : jobs) {
      @Nullable DeviceSlot slot = job.slot;
      if (slot != null) {
        job.throughput(interval)
            .ifPresent(
                reached ->
                    pairs.add(
                        new MeasuredPair(
                            slot.online.profile(),
                            job.profile.orElseThrow(),
                            slot.online.share(),
                            reached)));
      }
    }
    return pairs;
  }

  private void match() {
    lock.lock();
    try {
      long nanos = nanoClock.getAsLong();
      matchedNanos = nanos;
      matchings++;
      move(plan(), nanos);
      slots.all().forEach(slot -> slot.online.begin());
      jobs.forEach(PlacedJob::beginInterval);
    } finally {
      lock.unlock();
    }
  }

  /** By the jobs' names, which are their places in the list. */
  private List<Placement> plan() {
    Duration move =
        Duration.ofNanos(Math.max(moveNanos, settings.interval().toNanos() / LEAST_GAIN));
    List<OnlineDevice> nodes = new ArrayList<>();
    for (DeviceSlot slot : slots.all()) {
      if (slot.next == null && slot.reading().takesJobs()) {
        nodes.add(
            new OnlineDevice(
                slot.name, settings.gpuType(), slot.reading().state(), slot.online.profile()));
      }
    }
    List<OfflineJob> movable = new ArrayList<>();
    for (int i = 0; i < jobs.size(); i++) {
      PlacedJob job = jobs.get(i);
      @Nullable DeviceSlot slot = job.slot;
      if (slot != null && !job.mustMove() && slot.next == null && slot.reading().takesJobs()) {
        movable.add(
            new OfflineJob(
                Integer.toString(i),
                job.profile.orElse(Experience.UNKNOWN),
                Optional.of(slot.name),
                move,
                slots.barred(job)));
      }
    }
    return new OfflinePlacement(
            Map.of(settings.gpuType(), experience.predictor()),
            (OnlineDevice device) -> slots.of(device.id()).online.share(),
            settings.interval())
        .plan(nodes, movable);
  }

  /** A job goes to a device that is free, or whose own job goes, too. */
  private void move(List<Placement> plan, long nanos) {
    Map<DeviceSlot, PlacedJob> coming = new LinkedHashMap<>();
    for (Placement placement : plan) {
      PlacedJob job = jobs.get(Integer.parseInt(placement.job()));
      DeviceSlot to = slots.of(placement.device());
      if (to == job.slot) {
        job.stays(experience.by(job.profile), placement.predicted());
      } else {
        coming.put(to, job);
      }
    }
    while (coming.keySet().removeIf(to -> to.job != null && !coming.containsValue(to.job))) {}
    coming.forEach(
        (to, job) -> {
          job.tell(to, nanos);
          LOG.log(
              Level.INFO,
              "an offline job of {0} moves from {1} to {2}",
              job.workload(),
              job.place().device(),
              to.name);
        });
  }

  /**
   * Gives a job a device; empty while none is healthy and without a job, or one that has lost its
   * own waits for it. A job that is on the only ones that would do is told to go to a free one.
   *
   * @param model whose jobs share a profile
   */
  public Optional<PlacedJob> admit(ModelVersion model) {
    String workload = model.toString();
    Optional<WorkloadProfile> profile = experience.find(workload);
    lock.lock();
    try {
      long nanos = nanoClock.getAsLong();
      Set<String> barred = slots.barred(model);
      Optional<DeviceSlot> free = slots.bestFree(barred, profile);
      if (free.isEmpty()) {
        misplaced.makeRoom(model, barred, nanos);
        return Optional.empty();
      }
      if (jobs.stream().anyMatch(job -> misplaced.waitsFor(free.get(), job))) {
        return Optional.empty();
      }
      JobPlace place = place(free.get(), profile);
      PlacedJob job = new PlacedJob(this, model, profile, place);
      jobs.add(job);
      job.arrived(free.get(), place.by(), place.predicted(), nanos);
      return Optional.of(job);
    } finally {
      lock.unlock();
    }
  }

  /** How many devices are healthy and without a job. */
  public int freeDevices() {
    lock.lock();
    try {
      return slots.free();
    } finally {
      lock.unlock();
    }
  }

  private JobPlace place(DeviceSlot slot, Optional<WorkloadProfile> profile) {
    return new JobPlace(
        slot.name, experience.by(profile), experience.predicted(slot.online, profile), 0);
  }

  boolean settle(PlacedJob job) {
    lock.lock();
    try {
      long nanos = nanoClock.getAsLong();
      if (job.slot != null) {
        job.vacatedNanos = nanos;
      }
      vacate(job);
      if (job.target != null && !job.target.reading().takesJobs()) {
        DeviceSlot wanted = job.target;
        wanted.next = null;
        job.target = null;
        stayInstead(job, wanted);
      }
      if (job.target == null) {
        Optional<DeviceSlot> free = slots.bestFree(slots.barred(job), job.profile);
        if (free.isEmpty()) {
          misplaced.makeRoom(job.model(), slots.barred(job), nanos);
          return false;
        }
        job.target = free.get();
      }
      DeviceSlot to = job.target;
      if (to.job != null) {
        return false;
      }
      if (!to.name.equals(job.place().device())) {
        moves++;
      }
      job.arrived(
          to, experience.by(job.profile), experience.predicted(to.online, job.profile), nanos);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Has a job take its own device back from one that it was to change places with. */
  private void stayInstead(PlacedJob job, DeviceSlot wanted) {
    DeviceSlot own = slots.of(job.place().device());
    @Nullable PlacedJob other = own.next;
    if (other != null && other == wanted.job && own.job == null && own.reading().takesJobs()) {
      other.giveTargetUp(wanted.reading().usable());
      job.target = own;
      own.next = job;
    }
  }

  private static void vacate(PlacedJob job) {
    if (job.slot != null) {
      job.slot.job = null;
      job.slot = null;
    }
  }

  boolean neverFits(PlacedJob job) {
    lock.lock();
    try {
      String device = job.place().device();
      job.tooSmall.add(device);
      boolean mayFitAnother = slots.barred(job).contains(device);
      if (mayFitAnother && !job.mustMove()) {
        job.tell(null, nanoClock.getAsLong());
      }
      return mayFitAnother;
    } finally {
      lock.unlock();
    }
  }

  void firstAnswered(PlacedJob job) {
    lock.lock();
    try {
      long took = nanoClock.getAsLong() - job.toldNanos;
      moveNanos = Math.min(took, settings.interval().toNanos() / MOST_MOVE);
    } finally {
      lock.unlock();
    }
  }

  void leave(PlacedJob job) {
    lock.lock();
    try {
      vacate(job);
      if (job.target != null) {
        job.target.next = null;
        job.target = null;
      }
      jobs.remove(job);
    } finally {
      lock.unlock();
    }
  }

  /** What the metrics say. */
  public PlacementCounts counts() {
    SpeedLearning.Learnt learnt = experience.learnt();
    Map<String, PlacementCounts.Device> devices = new LinkedHashMap<>();
    lock.lock();
    try {
      for (DeviceSlot slot : slots.all()) {
        devices.put(
            slot.name,
            new PlacementCounts.Device(
                slot.online.profile().utilization(),
                Optional.ofNullable(slot.job).map(job -> job.place().predicted())));
      }
      return new PlacementCounts(devices, matchings, moves, learnt.pairs(), learnt.error());
    } finally {
      lock.unlock();
    }
  }

  /** Looks no more. */
  @Override
  public void close() {
    thread.close();
    experience.close();
  }
}
