package io.pipelane.lanes.process.worker;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.pipelane.lanes.PersistentMemory.Account;
import io.pipelane.lanes.cpu.SharedMemory;
import io.pipelane.lanes.cpu.WorkerMemory;
import io.pipelane.lanes.cpu.WorkerRange;
import io.pipelane.lanes.execution.MemoryTarget;
import io.pipelane.lanes.execution.ModelSession;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.process.channel.Message;
import io.pipelane.lanes.process.channel.ProtocolException;
import io.pipelane.lanes.process.channel.SessionDescription;
import io.pipelane.modelstore.ImportedModel;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The sessions of this process, by the server's numbers. Safe for any platform thread. */
final class WorkerSessions {
  private final long server;
  private final WorkerMemory memory;
  private final SessionFactory factory;
  private final WorkerSteps steps;
  private final Map<Long, WorkerSession> sessions = new ConcurrentHashMap<>();

  WorkerSessions(long server, WorkerMemory memory, SessionFactory factory, WorkerSteps steps) {
    this.server = server;
    this.memory = memory;
    this.factory = factory;
    this.steps = steps;
  }

  /** The session of a number. */
  WorkerSession get(long number) {
    WorkerSession session = sessions.get(number);
    if (session == null) {
      throw new ProtocolException("there is no session " + number);
    }
    return session;
  }

  /** Builds a session; nothing is left when that fails. */
  Message.Built build(Message.Build build) {
    ImportedModel model = description(build);
    String structure = model.plan().structureHash();
    steps.reached(WorkerSteps.Step.BUILDING, structure);
    Account constants = memory.persistent().open("session " + build.session(), build.limitBytes());
    WorkerRange range = memory.range(build.slots());
    boolean built = false;
    try {
      ModelSession session =
          factory.gated(model, range.address(), null, new MemoryTarget.Persistent(constants));
      sessions.put(
          build.session(),
          new WorkerSession(session, model.plan(), range, build.slots(), constants));
      constants.limit(constants.usedBytes());
      built = true;
      steps.reached(WorkerSteps.Step.BUILT, structure);
      return new Message.Built(constants.usedBytes());
    } finally {
      if (!built) {
        memory.giveBack(build.slots());
        constants.close();
      }
    }
  }

  private ImportedModel description(Message.Build build) {
    try (SharedMemory described =
        SharedMemory.open(server, build.description(), build.descriptionBytes())) {
      return SessionDescription.read(described.segment().toArray(JAVA_BYTE));
    }
  }

  /** Closes a session that nothing runs in. */
  Message.Closed close(Message.Close close) {
    WorkerSession session = get(close.session());
    steps.reached(WorkerSteps.Step.CLOSING, session.plan().structureHash());
    sessions.remove(close.session());
    session.session().close();
    session.constants().close();
    memory.giveBack(session.slots());
    return new Message.Closed();
  }
}
