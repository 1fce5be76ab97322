package io.pipelane.switcher.simulator;

import io.pipelane.switcher.grouping.Grouping.Group;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.function.Consumer;

/**
 * A simulator that replays traces against recorded plans, without a device and without a clock: the
 * same trace gives the same answer. Residency is decided by the classes that a server's memory
 * daemon uses.
 */
public final class Simulator {
  /*
   * There is one link, first come, first served, and lanes take requests in their order. A run's
   * copies are sent for when it begins, all at once. They come behind those of runs before it, and
   * behind a page that is being brought in ahead; such a page is sent for only while the link has
   * nothing to do. How long a run takes from there on is the pipeline model's to say. What is
   * copied beside it later, for others, puts its end off where copies slow runs down.
   *
   * Time moves from event to event; at each, everything that can begin does.
   */
  private static final int LOOK_AHEAD = 4;

  private final SimulatorSettings settings;
  private final SimulatedMemory memory;
  private final Consumer<Copied> copies;
  private final Admissions line;

  private enum Kind {
    CAME,
    RAN,
    LINK_FREE,
    RESTED
  }

  /**
   * A run under way.
   *
   * @param warmNanos what it takes with all weights there
   * @param endNanos as far as it is known
   */
  private record Running(
      long beginNanos, SimulatedMemory.Start start, long warmNanos, long endNanos) {}

  /**
   * An event of the simulation; those of one moment come in the order in which they were foreseen.
   */
  private record Event(long nanos, long number, Kind kind, int subject) {}

  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::nanos).thenComparingLong(Event::number));
  private final Map<Integer, Running> running = new HashMap<>();
  private long foreseen;
  private int idleLanes;
  private long linkFree;
  private long rested;
  private long ended = Long.MIN_VALUE; // When a run last did.
  private long now;

  /** The last request that has asked for its model's weights. */
  private int asked = -1;

  /**
   * A device on which nothing is.
   *
   * @param copies told of every copy when it is sent for
   */
  public Simulator(
      SimulatorSettings settings, List<SimulatedModel> models, Consumer<Copied> copies) {
    this(settings, models, copies, Long.MAX_VALUE);
  }

  /**
   * The same where every request has to be answered in time, or is refused, as the server's queue
   * does it: when it comes and cannot make it behind those that wait, or when its turn comes and it
   * cannot make it any more, before any work was done for it (Gujarati et al., Clockwork, OSDI
   * 2020).
   *
   * @param objectiveNanos from a request's coming to its answer, at most
   */
  public Simulator(
      SimulatorSettings settings,
      List<SimulatedModel> models,
      Consumer<Copied> copies,
      long objectiveNanos) {
    this.settings = settings;
    this.copies = copies;
    this.memory = new SimulatedMemory(settings, models);
    this.line = new Admissions(memory, settings.lanes(), objectiveNanos);
    this.idleLanes = settings.lanes();
  }

  /** Replays a trace, which is sorted by time; once. */
  public Replay replay(List<TracedUse> trace) {
    Recording recording = new Recording(trace);
    for (int request = 0; request < trace.size(); request++) {
      foresee(trace.get(request).nanos(), Kind.CAME, request);
    }
    while (!events.isEmpty()) {
      Event event = events.remove();
      now = event.nanos;
      switch (event.kind) {
        case CAME -> come(event.subject, trace, recording);
        case RAN -> ran(event.subject, trace, recording);
        case LINK_FREE, RESTED -> {}
      }
      beginRuns(trace, recording);
      fetchAhead(recording);
    }
    return recording.replay();
  }

  private void foresee(long nanos, Kind kind, int subject) {
    events.add(new Event(nanos, foreseen++, kind, subject));
  }

  private void come(int request, List<TracedUse> trace, Recording recording) {
    if (!line.come(request, trace.get(request).model(), now, linkFree)) {
      recording.refused(request);
    }
  }

  private void beginRuns(List<TracedUse> trace, Recording recording) {
    while (idleLanes > 0 && !line.isEmpty()) {
      int request = line.first();
      int model = trace.get(request).model();
      if (line.isFirstTooLate(now, linkFree)) {
        line.leave();
        recording.refused(request);
        continue;
      }
      if (request > asked) {
        asked = request;
        memory.asked(model, now);
      }
      if (!memory.canBegin(model, now)) {
        return;
      }
      line.begin(now);
      idleLanes--;
      boolean isBehindAnother = ended == now && trace.get(request).nanos() < now;
      run(request, model, isBehindAnother ? memory.hiddenNanos(model) : 0, recording);
    }
  }

  private void ran(int request, List<TracedUse> trace, Recording recording) {
    Running run = Objects.requireNonNull(running.get(request), "a run");
    if (run.endNanos > now) { // It has been put off.
      foresee(run.endNanos, Kind.RAN, request);
      return;
    }
    running.remove(request);
    ended = now;
    recording.ran(request, stallNanos(run), run.beginNanos, now);
    idleLanes++;
    line.ended(request);
    memory.ran(trace.get(request).model());
  }

  private long stallNanos(Running run) {
    if (!settings.friction().stallIsExcess()) {
      return run.start.prediction().stallNanos();
    }
    return run.start.waits() ? Math.max(0, run.endNanos - run.beginNanos - run.warmNanos) : 0;
  }

  /** Copies are beside all that runs for a while. */
  private void slowRuns(long beginNanos, long untilNanos) {
    running.replaceAll(
        (_, run) -> {
          long beside = Math.max(0, Math.min(untilNanos, run.endNanos) - beginNanos);
          double share = settings.friction().contention().computingLost();
          long end = run.endNanos + Math.round(share * beside);
          return new Running(run.beginNanos, run.start, run.warmNanos, end);
        });
  }

  private void run(int request, int model, long hiddenNanos, Recording recording) {
    SimulatedMemory.Start start = memory.begin(model, now, linkFree);
    List<Group> sent = start.sent();
    long median = now + start.prediction().totalNanos() - hiddenNanos;
    long end = Math.max(now, median + memory.beyondMedianNanos(model, request));
    if (!sent.isEmpty()) {
      end = Math.max(end, start.linkFree()); // However short the run is, not before its weights.
      slowRuns(Math.max(now, linkFree), start.linkFree());
      for (Group group : sent) {
        send(new Copied(model, group.offset(), group.end(), CopyReason.DEMAND), recording);
      }
      linkFree = start.linkFree();
      foresee(linkFree, Kind.LINK_FREE, model);
    }
    recording.began(request, sent.stream().mapToLong(Group::byteSize).sum());
    running.put(request, new Running(now, start, memory.warmNanos(model) - hiddenNanos, end));
    foresee(end, Kind.RAN, request);
  }

  /** One page at a time: for requests in the queue, else for planned prefixes. */
  private void fetchAhead(Recording recording) {
    if (linkFree > now || !settings.residency().prefetch()) {
      return;
    }
    memory
        .fetchAhead(line.upcoming(LOOK_AHEAD), running.size(), now)
        .ifPresent(
            page -> {
              slowRuns(now, page.arrives());
              send(page.copied(), recording);
              linkFree = page.arrives();
              foresee(linkFree, Kind.LINK_FREE, page.copied().model());
            });
    long rest = memory.restNanos(now);
    if (rest > 0 && rested != now + rest) {
      rested = now + rest;
      foresee(rested, Kind.RESTED, 0);
    }
  }

  private void send(Copied copied, Recording recording) {
    recording.copied(copied);
    copies.accept(copied);
  }
}
