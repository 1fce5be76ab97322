package io.pipelane.lanes.process.worker;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.pipelane.lanes.MappedRange;
import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.Progress;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.SessionDescription;
import io.pipelane.modelstore.ImportedModel;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The sessions of this process, by the server's numbers. Safe for any platform thread. */
final class WorkerSessions {
  private final long server;
  private final WorkerDevice device;
  private final WorkerSteps steps;
  private final Map<Long, WorkerSession> sessions = new ConcurrentHashMap<>();

  WorkerSessions(long server, WorkerDevice device, WorkerSteps steps) {
    this.server = server;
    this.device = device;
    this.steps = steps;
  }

  /** The session of a number. */
  WorkerSession get(long number) {
    return find(number).orElseThrow(() -> new ProtocolException("there is no session " + number));
  }

  /** The same, unless it has been closed, or never built. */
  Optional<WorkerSession> find(long number) {
    return Optional.ofNullable(sessions.get(number));
  }

  /** Builds a session; nothing is left when that fails. */
  Message.Built build(Message.Build build) {
    ImportedModel model = description(build);
    String structure = model.plan().structureHash();
    steps.reached(WorkerSteps.Step.BUILDING, structure);
    Account constants = device.persistent().open("session " + build.session(), build.limitBytes());
    MappedRange range = device.range(build.slots());
    boolean built = false;
    try {
      ModelSession session =
          device
              .sessions()
              .gated(
                  model,
                  range.address(),
                  device.region(build.lane(), build.laneBytes()),
                  new MemoryTarget.Persistent(constants));
      long bytes = constants.usedBytes();
      WorkerSession known =
          new WorkerSession(
              session,
              model.plan(),
              range,
              build.slots(),
              constants,
              bytes,
              new AtomicBoolean(),
              new ReentrantReadWriteLock());
      sessions.put(build.session(), known);
      constants.limit(bytes + device.sparedBytes());
      built = true;
      if (!device.sessions().boundToLane()) {
        // What is there already need not be mapped by the first run. The server does not close a
        // session that it believes was not built.
        WorkerMain.orEnd(() -> range.map(0, model.plan().weightBytes()));
      }
      steps.reached(WorkerSteps.Step.BUILT, structure);
      return new Message.Built(bytes, known.heldBytes());
    } finally {
      if (!built) {
        device.giveBack(build.slots());
        constants.close();
      }
    }
  }

  /** Whether the device does no more for this process. */
  boolean isLost() {
    return device.sessions().isLost();
  }

  private ImportedModel description(Message.Build build) {
    try (SharedMemory described =
        SharedMemory.open(server, build.description(), build.descriptionBytes())) {
      return SessionDescription.read(described.segment().toArray(JAVA_BYTE));
    }
  }

  /**
   * Has a session give up what it can do without, between two runs of it.
   *
   * @param progress made while it waits for a run: that may take its time
   */
  Message.Shrunk shrink(Message.Shrink shrink, Progress progress) {
    WorkerSession session = sessions.get(shrink.session());
    if (session == null) {
      return new Message.Shrunk(0); // It has been closed, and holds nothing.
    }
    session.betweenRuns(session.session()::shrink, progress::step);
    return new Message.Shrunk(session.heldBytes());
  }

  /** Has a session take such memory again, as {@link #shrink} does. */
  Message.Closed captureAgain(Message.CaptureAgain again, Progress progress) {
    find(again.session())
        .ifPresent(session -> session.betweenRuns(session.session()::captureAgain, progress::step));
    return new Message.Closed();
  }

  /** Sees whether the device still does anything for this process. */
  Message.Closed check() {
    steps.reached(WorkerSteps.Step.CHECKING, "");
    device.check();
    return new Message.Closed();
  }

  /** Gives back host memory that the server has closed. */
  Message.Closed tidy() {
    device.tidy();
    return new Message.Closed();
  }

  /** Closes a session that nothing runs in. */
  Message.Closed close(Message.Close close) {
    WorkerSession session = get(close.session());
    steps.reached(WorkerSteps.Step.CLOSING, session.plan().structureHash());
    sessions.remove(close.session());
    session.session().close();
    session.constants().close();
    device.giveBack(session.slots());
    return new Message.Closed();
  }
}
