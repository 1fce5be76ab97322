package io.pipelane.switcher.simulator;

import io.pipelane.switcher.grouping.ContendedRun;
import io.pipelane.switcher.grouping.ContendedRun.Course;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.PipelineModel;
import io.pipelane.switcher.grouping.PipelineModel.Prediction;
import io.pipelane.switcher.grouping.PipelineModel.Ready;
import io.pipelane.switcher.residency.Holding;
import io.pipelane.switcher.residency.Holdings;
import io.pipelane.switcher.residency.IdleMoves;
import io.pipelane.switcher.residency.Pacing;
import io.pipelane.switcher.residency.Policies;
import io.pipelane.switcher.residency.RemapSteps;
import io.pipelane.switcher.residency.StallCurves;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A simulated device's memory: who holds which pages, and when what was sent for arrives. */
final class SimulatedMemory {
  private final SimulatorSettings settings;
  private final Holdings holdings;
  private final IdleMoves idleMoves;
  private final List<Resident> residents = new ArrayList<>();
  private final Map<Holding, Resident> byHolding = new HashMap<>();
  private final Map<String, Resident> mounted = new HashMap<>();
  private final Pacing pacing;
  private long freePages;

  /** Who was brought a page ahead last. */
  private @Nullable Resident latestAhead;

  /** When that page is there. */
  private long aheadArrives;

  /** When that page no longer keeps others from being mapped. */
  private long mappingFree;

  /** A model in memory. */
  private static final class Resident {
    final int index;
    final SimulatedModel model;
    final Holding holding;
    int runs;

    /** When the last byte that was sent for is there. */
    long arrives;

    Resident(int index, SimulatedModel model, Holding holding) {
      this.index = index;
      this.model = model;
      this.holding = holding;
    }

    int missing() {
      return holding.curve().pages() - holding.pages();
    }

    boolean isIdle(long now) {
      return runs == 0 && arrives <= now;
    }
  }

  /**
   * A run as it begins.
   *
   * @param sent groups that are sent for
   * @param linkFree when they all are there
   * @param waits whether it begins before all its weights can be read
   */
  record Start(List<Group> sent, long linkFree, Prediction prediction, boolean waits) {}

  /** A page that is brought in ahead. */
  record Page(Copied copied, long arrives) {}

  SimulatedMemory(SimulatorSettings settings, List<SimulatedModel> models) {
    this.settings = settings;
    this.freePages = settings.capacityPages();
    this.pacing = new Pacing(settings.residency().pacing() ? settings.friction().restFactor() : 0);
    holdings =
        new Holdings(
            Policies.of(settings.residency().policy(), 0), settings.residency().halfLife());
    StallCurves curves =
        new StallCurves(
            settings.grouping(), settings.pageBytes(), settings.residency().stallTargetMicros());
    for (SimulatedModel model : models) {
      Holding holding =
          holdings.add(curves.of(model.plan(), model.supposed(), model.transferNanos()), 0);
      if (holding.curve().pages() > freePages) {
        throw new IllegalArgumentException(
            "model %s needs %d pages, the device has %d"
                .formatted(model.name(), holding.curve().pages(), freePages));
      }
      Resident resident = new Resident(residents.size(), model, holding);
      residents.add(resident);
      byHolding.put(holding, resident);
    }
    double pageNanos = models.getFirst().pipeline().link().copyNanos(settings.pageBytes());
    idleMoves =
        new IdleMoves(holdings, settings.capacityPages(), () -> pageNanos, settings.residency());
  }

  /** Notes that a run is about to begin. */
  void asked(int index, long now) {
    holdings.used(residents.get(index).holding, now);
  }

  /** What a run takes with all weights there. */
  long warmNanos(int index) {
    return residents.get(index).model.pipeline().warmNanos();
  }

  /** What of a run that has waited for its turn is hidden behind the one before it. */
  long hiddenNanos(int index) {
    return residents.get(index).model.hiddenNanos();
  }

  /** What a request's run takes beyond the median of such runs. */
  long beyondMedianNanos(int index, int request) {
    return residents.get(index).model.spread().nanos(request);
  }

  /** What a run would lose by missing weights if it began now. */
  long expectedStallNanos(int index, long now, long linkFree) {
    Resident resident = residents.get(index);
    if (resident.missing() == 0) {
      return 0;
    }
    double stall = resident.holding.curve().nanos(resident.holding.pages());
    return Math.round(stall) + Math.max(0, linkFree - now);
  }

  /** Makes room for what a run misses; false when that has to wait for other runs. */
  boolean canBegin(int index, long now) {
    Resident resident = residents.get(index);
    return makeRoom(resident.missing(), resident, List.of(), now);
  }

  private boolean makeRoom(int pages, Resident inFavourOf, List<Integer> spared, long now) {
    return holdings.makeRoom(
        pages,
        () -> freePages,
        holding -> {
          Resident resident = resident(holding);
          return resident != inFavourOf && resident.isIdle(now) && !spared.contains(resident.index);
        },
        (holding, count) -> setPages(resident(holding), holding.pages() - count));
  }

  private Resident resident(Holding holding) {
    return Objects.requireNonNull(byHolding.get(holding), "nobody's pages");
  }

  private void setPages(Resident resident, int pages) {
    freePages -= pages - resident.holding.pages();
    holdings.setPages(resident.holding, pages);
  }

  /** Begins a run for which there is room; its copies come behind those before. */
  Start begin(int index, long now, long linkFree) {
    Resident resident = residents.get(index);
    SimulatedModel model = resident.model;
    List<Group> sent = missingGroups(resident);
    List<Ready> ready = remap(resident, now);
    PipelineModel pipeline = model.pipeline();
    long begin = Math.max(now + pipeline.leadNanos(), linkFree);
    if (!ready.isEmpty()) { // One thread does both.
      Ready before = settings.friction().mapsAmongCopies() ? ready.getFirst() : ready.getLast();
      begin = Math.max(begin, now + before.nanos() + pipeline.leadNanos());
    }
    if (resident.arrives > now) { // A page that was brought in ahead is on its way.
      long page = (resident.holding.pages() - 1) * settings.pageBytes();
      ready.add(new Ready(page, resident.arrives - now));
    }
    setPages(resident, resident.holding.curve().pages());
    resident.runs++;
    Course course =
        ContendedRun.predict(
            new PipelineModel(
                pipeline.link(), pipeline.segments(), begin - now, pipeline.waitNanos()),
            sent,
            ready,
            settings.friction().contention(),
            Math.max(0, linkFree - now));
    Prediction undelayed = course.prediction();
    long lost = sent.isEmpty() ? 0 : model.transferNanos();
    Prediction prediction =
        new Prediction(undelayed.totalNanos() + lost, undelayed.computingNanos());
    long end = sent.isEmpty() ? begin : now + course.copiedNanos();
    resident.arrives = sent.isEmpty() ? resident.arrives : end;
    return new Start(sent, end, prediction, !sent.isEmpty() || !ready.isEmpty());
  }

  private List<Group> missingGroups(Resident resident) {
    return resident.missing() == 0
        ? List.of()
        : settings
            .grouping()
            .groups(resident.model.plan(), resident.holding.pages() * settings.pageBytes());
  }

  /** Mounts a model; when its pages lie where they should, if they do not. */
  private List<Ready> remap(Resident resident, long now) {
    Resident former = mounted.put(resident.model.plan().structureHash(), resident);
    List<Ready> ready = new ArrayList<>();
    if (former != resident && former != null && resident.model.remapPageNanos() > 0) {
      long held = Math.max(0, mappingFree - now);
      long offset = 0;
      for (int pages : RemapSteps.ends(resident.holding.pages())) {
        ready.add(new Ready(offset, held + pages * resident.model.remapPageNanos()));
        offset = pages * settings.pageBytes();
      }
    }
    return ready;
  }

  /** A run has ended. */
  void ran(int index) {
    Resident resident = residents.get(index);
    resident.runs--;
    if (resident.runs == 0 && !holdings.policy().keepsAfterRuns()) {
      setPages(resident, 0);
    }
  }

  /**
   * Sends for a page while the link is idle.
   *
   * @param upcoming models that will be asked next
   * @param runs under way
   */
  Optional<Page> fetchAhead(List<Integer> upcoming, int runs, long now) {
    pacing.begin();
    pacing.arrived(aheadArrives);
    for (int index : upcoming) {
      Resident resident = residents.get(index);
      if (resident.missing() > 0 && resident.arrives <= now) {
        return makeRoom(1, resident, upcoming, now)
            ? Optional.of(sendQueued(resident, upcoming, runs, now))
            : Optional.empty();
      }
    }
    if (pacing.holdsBack(runs, now)) {
      return Optional.empty();
    }
    idleMoves
        .due(now)
        .ifPresent(
            plan -> {
              plan.solve();
              idleMoves.follow(plan);
            });
    return idleMoves
        .next(freePages, h -> resident(h).isIdle(now), h -> resident(h).isIdle(now), now)
        .map(this::resident)
        .filter(into -> makeRoom(1, into, upcoming, now))
        .map(into -> send(into, CopyReason.IDLE, settings.friction().aheadNanos(), runs, now));
  }

  /** The next run's pages follow each other without a pause. */
  private Page sendQueued(Resident resident, List<Integer> upcoming, int runs, long now) {
    boolean isBehind =
        resident.equals(latestAhead)
            && resident.index == upcoming.getFirst()
            && aheadArrives == now;
    long beside = isBehind ? 0 : settings.friction().aheadNanos();
    return send(resident, CopyReason.QUEUED, beside, runs, now);
  }

  /** When to ask again for what {@link #fetchAhead} has held back; 0 where nothing was. */
  long restNanos(long now) {
    return pacing.restNanos(now);
  }

  private Page send(Resident resident, CopyReason reason, long besideNanos, int runs, long now) {
    pacing.sent(now);
    long offset = resident.holding.pages() * settings.pageBytes();
    long end = Math.min(offset + settings.pageBytes(), resident.model.plan().weightBytes());
    setPages(resident, resident.holding.pages() + 1);
    Friction friction = settings.friction();
    long copy = resident.model.pipeline().link().copyNanos(end - offset);
    long besideRuns = runs > 0 ? friction.contention().copyNanos(copy) : copy;
    resident.arrives = now + besideNanos + besideRuns;
    latestAhead = resident;
    mappingFree = now + friction.heldNanos();
    aheadArrives = resident.arrives;
    return new Page(new Copied(resident.index, offset, end, reason), aheadArrives);
  }
}
