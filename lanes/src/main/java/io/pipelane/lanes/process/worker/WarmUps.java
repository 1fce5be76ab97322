package io.pipelane.lanes.process.worker;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.DeviceEvent;
import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.cuda.driver.CudaException;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.OutOfDeviceMemoryException;
import io.pipelane.lanes.execution.WeightArrivals;
import io.pipelane.lanes.process.channel.ChannelEnd;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.PlacedTensor;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.runtime.MadeUpNumbers;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Runs of sessions that nobody has asked for yet. The first who does need not wait for what a first
 * run loads, compiles, tries out and captures. Safe for any platform thread.
 */
final class WarmUps {
  /*
   * A page of zeroes lies under the range meanwhile, as the pages that belong there may be
   * anybody's and change at any time. Nothing that is kept of such a run depends on the weights: a
   * capture holds their addresses, which stay, and kernels are chosen by shapes. What a capture has
   * frozen by mistake would not show with weights of zero. So only what has been checked elsewhere,
   * with true weights, is captured.
   *
   * Everything else that this process does holds `quiet` for reading, so that no run finds the
   * zeroes, nor its lane in use. A warm-up never waits for that. It takes place when nothing else
   * does, and is given up at its next gate once somebody waits for an answer (`urgent` counts
   * them).
   */
  private static final System.Logger LOG = System.getLogger(WarmUps.class.getName());

  private static final int SEED = 20260101;

  /** The second run goes on where the first one compiled, as most do. */
  private static final int RUNS = 2;

  /** Shapes are captured at one of the first runs, or not for a good reason. */
  private static final int MOST_RUNS_TO_CAPTURE = 4;

  private final WorkerDevice device;
  private final WorkerSessions sessions;
  private final WorkerLanes lanes;
  private final WorkerSteps steps;
  private final ReentrantReadWriteLock quiet = new ReentrantReadWriteLock();
  private final AtomicInteger urgent = new AtomicInteger();
  private final WeightArrivals blank = new BlankWeights();

  /** Nothing has been run. */
  WarmUps(WorkerDevice device, WorkerSessions sessions, WorkerLanes lanes, WorkerSteps steps) {
    this.device = device;
    this.sessions = sessions;
    this.lanes = lanes;
    this.steps = steps;
  }

  /** A stretch of work that goes on apart from warm-ups. */
  @FunctionalInterface
  interface Apart extends AutoCloseable {
    @Override
    void close();
  }

  /**
   * Begins something else, once no warm-up is under way. Whoever waits at the other end sees that
   * it waits, and ends the process if that takes too long.
   *
   * @param end where it was asked for
   * @param isUrgent whether a warm-up is to be given up for it
   */
  Apart apart(ChannelEnd end, boolean isUrgent) {
    end.progress().waits(true); // Before it does: a crash from here on is not this channel's.
    if (!quiet.readLock().tryLock()) {
      urgent.addAndGet(isUrgent ? 1 : 0);
      quiet.readLock().lock();
      urgent.addAndGet(isUrgent ? -1 : 0);
      end.progress().step(); // What comes now has all the time that it may take.
    }
    end.progress().waits(false);
    return quiet.readLock()::unlock;
  }

  /**
   * Warms a session up.
   *
   * @throws StatusException {@link Status#UNAVAILABLE} when something else goes on or has come,
   *     {@link Status#NOT_FOUND} when the session is closed by now, {@link
   *     Status#INSUFFICIENT_MEMORY} when the lane's memory would come short elsewhere
   */
  Message.WarmedUp carryOut(Message.WarmUp warmUp) {
    if (!quiet.writeLock().tryLock()) {
      throw new StatusException(Status.UNAVAILABLE, "the worker does something else");
    }
    try {
      WorkerSession session =
          sessions
              .find(warmUp.session())
              .orElseThrow(
                  () -> new StatusException(Status.NOT_FOUND, "the session has been closed"));
      steps.reached(WorkerSteps.Step.WARMING, session.plan().structureHash());
      // As much again is left for those who have a right to it.
      if (!device.hasFree(2 * warmUp.memory().limitBytes())) {
        throw new StatusException(
            Status.INSUFFICIENT_MEMORY,
            "the device has no %d bytes to warm up with".formatted(warmUp.memory().limitBytes()));
      }
      WorkerLane lane = lanes.spare(warmUp.lane(), warmUp.memory());
      overBlankWeights(session, lane, warmUp);
      WorkerMain.orEnd(() -> session.range().map(0, session.plan().weightBytes()));
      openAhead(warmUp);
      return new Message.WarmedUp();
    } finally {
      quiet.writeLock().unlock();
    }
  }

  /** Opens the lane, whose pinning takes milliseconds on a GPU, unless somebody waits already. */
  private void openAhead(Message.WarmUp warmUp) {
    if (!warmUp.memory().isOpened() || urgent.get() > 0) {
      return;
    }
    try {
      WorkerLane _ = lanes.open(warmUp.lane(), warmUp.memory());
    } catch (StatusException | CudaException e) {
      LOG.log(Level.WARNING, "a lane is left for its first run to open", e);
    }
  }

  private void overBlankWeights(WorkerSession session, WorkerLane lane, Message.WarmUp warmUp) {
    try (MappedRange.Blank _ = session.range().blank()) {
      lane.region().limit(warmUp.memory().limitBytes());
      try {
        runAgainAndAgain(session, lane, warmUp);
      } finally {
        lane.region().limit(0); // Waits for what a failed run has left on the device.
        lane.host().discard();
      }
    }
  }

  private void runAgainAndAgain(WorkerSession session, WorkerLane lane, Message.WarmUp warmUp) {
    int left = warmUp.captured() ? MOST_RUNS_TO_CAPTURE : RUNS;
    do {
      run(session, lane, warmUp);
      left--;
    } while (left > 0 && !session.session().isCaptured());
    if (session.session().isCaptured()) { // To replay it is another way, which was not gone yet.
      run(session, lane, warmUp);
    }
  }

  private void run(WorkerSession session, WorkerLane lane, Message.WarmUp warmUp) {
    Message.Run run =
        new Message.Run(
            warmUp.session(),
            warmUp.memory(),
            placed(warmUp, lane),
            List.of(),
            Optional.empty(),
            warmUp.outputs(),
            WeightArrivals.ALL,
            List.of());
    MemoryTarget.Growth growth = bytes -> grow(lane.region(), bytes);
    try (PlacedInvocation invocation =
        new PlacedInvocation(
            session.plan(),
            run,
            ServerMemory.NONE,
            (position, output) -> Message.Placed.IN_LANE,
            lane.host(),
            lane.hostGrowth(growth),
            warmUp.captured(),
            placed -> {})) {
      session.session().run(invocation, lane.region(), growth, blank);
    }
  }

  /** A first run takes more than those that its lane was measured by. */
  private boolean grow(EphemeralRegion region, long bytes) {
    long limit = region.limitBytes() + bytes;
    boolean isThere = limit <= region.maximumBytes() && device.hasFree(2 * bytes);
    if (isThere) {
      region.limit(limit);
    }
    return isThere;
  }

  /**
   * The weights of zero of a warm-up, which are there at once, and gone when somebody else waits.
   */
  private final class BlankWeights implements WeightArrivals {
    @Override
    public void await(int segment) {
      if (urgent.get() > 0) {
        throw new StatusException(Status.UNAVAILABLE, "a run does not wait for a warm-up");
      }
    }

    @Override
    public List<DeviceEvent> before(int segment) {
      await(segment);
      return List.of();
    }

    @Override
    public void stalled(long nanos) {}
  }

  /** Puts made-up inputs where the run will look for them: what is allocated first lies first. */
  private static List<PlacedTensor> placed(Message.WarmUp warmUp, WorkerLane lane) {
    Random random = new Random(SEED);
    List<PlacedTensor> inputs = new ArrayList<>();
    List<Long> allocated = new ArrayList<>();
    try {
      for (PlacedTensor input : warmUp.inputs()) {
        if (input.isString()) {
          throw new ProtocolException("strings cannot be made up");
        }
        long address = lane.host().allocate(input.byteSize());
        if (address == 0) {
          throw new OutOfDeviceMemoryException(input.byteSize());
        }
        allocated.add(address);
        PlacedTensor there = input.at(address - lane.host().address());
        MadeUpNumbers.fill(input.type(), lane.host().at(there.offset(), there.byteSize()), random);
        inputs.add(there);
      }
      return inputs;
    } finally {
      allocated.forEach(lane.host()::free);
    }
  }
}
