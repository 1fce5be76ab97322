package io.pipelane.switcher;

import io.pipelane.config.section.SharingConfig;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.Releases;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.Lanes;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.ShareLane;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.modelstore.host.HostWeights;
import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceService.Ticket;
import io.pipelane.switcher.kept.KeptTensors;
import io.pipelane.switcher.memory.MemoryDaemon;
import io.pipelane.switcher.schedule.estimate.Estimates;
import io.pipelane.switcher.schedule.policy.Room;
import io.pipelane.switcher.schedule.policy.SchedulingPolicies;
import io.pipelane.switcher.schedule.queue.RequestQueue;
import io.pipelane.switcher.schedule.run.Execution;
import io.pipelane.switcher.schedule.run.FetchAheadThread;
import io.pipelane.switcher.schedule.run.RunParts;
import io.pipelane.switcher.sequence.Sequences;
import io.pipelane.switcher.sequence.Sequences.MakingRoom;
import io.pipelane.switcher.sequence.StepBounds;
import io.pipelane.switcher.sequence.TidiedStates;
import io.pipelane.switcher.sharing.MonitorThread;
import io.pipelane.switcher.sharing.Sharing;
import io.pipelane.switcher.worker.HeldBySequences;
import io.pipelane.switcher.worker.Worker;
import io.pipelane.switcher.working.WorkingMemory;
import java.util.Optional;
import java.util.function.LongSupplier;

/**
 * All that a switcher is made of: put together for a device, and taken apart once no run is left.
 */
final class SwitcherParts implements AutoCloseable {
  /*
   * Parts that need one another are given what they call back by methods here. These run only once
   * all parts are there: nothing is registered before, so nothing runs. Where memory is short,
   * somebody gives way to somebody else (sessions, states, kept tensors): who, is said here.
   */
  final DeviceMemory memory;
  final SessionFactory sessions;
  final WorkingMemory working;
  final MemoryDaemon daemon;
  final Worker worker;
  final StandingSessions standing;
  final Estimates estimates;
  final RequestQueue queue;
  final KeptTensors kept;
  final Sequences sequences;
  final Execution execution;
  final Sharing sharing;
  final int lanes;
  final long hostStateBytes;
  final StepBounds waitingSteps;
  final MonitorThread monitor;
  final Optional<FetchAheadThread> fetchAhead;
  final Admission admission;
  final Registration registration;
  final SpanParts spanParts;

  /** As {@link Switcher#Switcher}. */
  SwitcherParts(
      Device device,
      DeviceMemory memory,
      SessionFactory sessions,
      SwitcherSettings settings,
      HostWeights hostWeights,
      LongSupplier clock) {
    lanes = settings.lanes();
    hostStateBytes = settings.memory().hostStateBytes();
    waitingSteps = new StepBounds(settings.queue().requests(), settings.queue().bytes());
    this.memory = memory;
    this.sessions = sessions;
    SharingConfig shared = settings.sharing().config();
    int allLanes = SwitcherSettings.allLanes(settings.lanes(), settings.scheduling(), shared);
    working =
        new WorkingMemory(
            device,
            memory,
            settings.memory().workingBytes(),
            allLanes,
            device.vacatesPages() ? settings.memory().weightBytes() : 0,
            settings.residency().offlineShare(),
            shared,
            this::writeOfflineStateOut);
    Lanes laneMemory = working.lanes();
    kept =
        new KeptTensors(
            device.name(),
            device.states(),
            laneMemory,
            settings.memory().keptBytes(),
            this::hasAlike);
    sequences =
        new Sequences(
            new TidiedStates(device.states(), sessions::tidy),
            working.states().of(kept.yielding(laneMemory)),
            working.offline(),
            settings.memory().hostStateBytes(),
            this::giveUnaskedBack,
            new RoomForStates(),
            waitingSteps,
            this::queued,
            clock);
    sharing =
        new Sharing(
            settings.sharing(),
            device.pages().total() * device.pages().pageBytes(),
            settings.lanes(),
            settings.scheduling().offlineSharePercent() / 100.0,
            working.shareLanes().stream().map(ShareLane::percent).toList(),
            clock);
    worker =
        new Worker(
            sessions,
            device.persistent(),
            laneMemory,
            new Idle(),
            kept,
            settings.profiles(),
            clock);
    daemon =
        new MemoryDaemon(
            device,
            settings.memory().weightBytes(),
            hostWeights,
            settings.grouping(),
            worker::hasRoomForRange,
            settings.residency(),
            clock);
    laneMemory.borrowed().from(daemon.loans());
    daemon.loans().keptByStuckRuns(laneMemory.borrowed()::keptBytes);
    daemon.peers().lendWhile(() -> !sessions.isLost());
    boolean comeAhead = settings.residency().config().prefetch();
    estimates =
        new Estimates(
            daemon.appraisal()::stallNanos,
            comeAhead ? daemon.appraisal()::leastStallNanos : _ -> 0,
            daemon.appraisal()::wholeStallNanos,
            clock);
    Room room = new Room(estimates, settings.memory().weightBytes(), laneMemory::largestLaneBytes);
    queue =
        new RequestQueue(
            SchedulingPolicies.of(settings.scheduling(), estimates, room, sharing.gate()),
            estimates,
            settings.lanes(),
            settings.queue().requests(),
            settings.queue().bytes(),
            clock);
    queue.repeatWhile(() -> !sessions.isLost());
    fetchAhead =
        settings.residency().config().prefetch()
            ? Optional.of(new FetchAheadThread(daemon, queue::upcoming))
            : Optional.empty();
    fetchAhead.ifPresent(thread -> queue.onWeightsMissed(thread::missed));
    execution =
        new Execution(
            settings.lanes(),
            allLanes,
            settings.scheduling(),
            new RunParts(queue, estimates, daemon, working, worker, sharing.gate(), clock));
    admission =
        new Admission(
            sequences, queue, execution, sharing.gate(), sharing.objectives(), fetchAhead, clock);
    standing = new StandingSessions(worker, working, daemon, admission);
    registration =
        new Registration(
            settings.profiles(),
            admission,
            sequences,
            queue,
            sharing.gate().cost().slowdowns(),
            daemon,
            worker,
            execution);
    spanParts = new SpanParts(daemon.parts(), execution, sharing.gate().online(), clock);
    device.lendLinkWhile(() -> !sharing.gate().online().isInFlight());
    sharing.onError(sessions::reset);
    sharing.onEviction(daemon.evictions());
    monitor = new MonitorThread(sharing);
  }

  /** Has something leave working memory that nobody has asked for yet, where that may help. */
  private boolean giveUnaskedBack(long bytes) {
    return working.states().hasRoomFor(bytes) && (kept.giveIdleBack() || worker.evictUnused(bytes));
  }

  /** What keeps states from more may be a share, which no session's end makes larger. */
  private final class RoomForStates implements MakingRoom {
    @Override
    public boolean canMakeRoom(long bytes, long leavingBytes, Priority inFavourOf) {
      return hasShareFor(bytes, leavingBytes, inFavourOf)
          && worker.canFree(bytes - leavingBytes - kept.idleBytes());
    }

    @Override
    public void makeRoom(long bytes, Priority inFavourOf) {
      if (hasShareFor(bytes, 0, inFavourOf)) {
        boolean _ = kept.giveIdleBack();
        worker.evictIdleBeside(bytes);
      }
    }

    private boolean hasShareFor(long bytes, long leavingBytes, Priority inFavourOf) {
      return working.states().hasRoomFor(bytes, leavingBytes)
          && (inFavourOf == Priority.ONLINE || working.offline().hasShareFor(bytes - leavingBytes));
    }
  }

  /** What leaves working memory for runs while nobody uses it. */
  private final class Idle implements HeldBySequences {
    @Override
    public boolean writeOut(Priority inFavourOf) {
      return kept.giveIdleBack() || sequences.writeOut(inFavourOf);
    }

    @Override
    public long bytes() {
      return working.states().heldBytes();
    }

    @Override
    public long most(Priority of, Priority step, long laneBytes, long sessionBytes) {
      return working.mostOfState(of, step, laneBytes, sessionBytes);
    }
  }

  private boolean hasAlike(ModelVersion model) {
    return queue.hasAlike(model);
  }

  /** Makes room in what offline work may hold. */
  private boolean writeOfflineStateOut() {
    return sequences.writeOut(Priority.OFFLINE);
  }

  private Ticket queued(InferenceRequest request, ResultHandler handler) {
    return admission.queued(request, handler);
  }

  /** Gives everything back, one failure keeping nothing else; no run is under way. */
  @Override
  public void close() {
    try (Releases all = new Releases()) { // In reverse order.
      all.add(sessions);
      all.add(working);
      all.add(worker);
      all.add(daemon);
      all.add(kept);
      all.add(sequences);
      all.add(admission);
      all.add(monitor);
      fetchAhead.ifPresent(all::add);
    }
  }
}
