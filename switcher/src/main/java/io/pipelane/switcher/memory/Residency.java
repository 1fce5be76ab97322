package io.pipelane.switcher.memory;

import io.pipelane.config.Status;
import io.pipelane.config.StatusException;
import io.pipelane.lanes.PagePool.Page;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.grouping.Grouping.Group;
import io.pipelane.switcher.grouping.SegmentProfile;
import io.pipelane.switcher.memory.account.Ledger;
import io.pipelane.switcher.memory.pages.Arrival;
import io.pipelane.switcher.memory.pages.PageContents.Content;
import io.pipelane.switcher.residency.Holding;
import io.pipelane.switcher.residency.Unit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The memory daemon's record of one model's weights; guarded by the daemon's lock. */
final class Residency {
  /*
   * `pages` are the model's first pages, slot by slot, whether they are mounted or not; other
   * models may hold the same (SharedPages). Their content is there but for the arrivals. These are
   * in order of their beginnings, and are kept until all are done. A model that is not mounted
   * gains pages one by one (FetchAhead).
   */
  /** After a page could not be fetched; twice as long after each further one in a row. */
  private static final Duration FIRST_REST = Duration.ofSeconds(1);

  private static final int MOST_DOUBLINGS = 6;

  final ImportedModel model;
  final Structure structure;
  final Holding holding;
  final InPlaceWeights inPlace;

  /** What is in each of its pages, by slot; empty where it shares none. */
  final List<Content> contents;

  /** What each of the copies moves that bring the whole model in. */
  final List<Long> groupBytes;

  final List<Arrival> arrivals = new ArrayList<>();
  final List<Page> pages = new ArrayList<>();
  final Stay stay = new Stay();

  /** Where the pages lie; null while another variant has the range. */
  @Nullable StructureRange mountedIn;

  /** What its stalls were told from; null where sizes alone are known. */
  @Nullable SegmentProfile curveOf;

  /** As of which of the profiles' changes that is so. */
  long curveAsOf = -1;

  int leases;

  /** Other devices that copy its pages now. */
  int readers;

  /** Whether it is here for other devices alone, see {@link PeerMemory}. */
  boolean lodged;

  /** Whether it gives way once nobody runs on it, as the rest of its unit has. */
  boolean leaves;

  boolean retired;

  /** Whether it could not leave when it was to, as its device failed. */
  boolean stays;

  /** Whether the latest page could not be fetched; not tried again ahead of runs at once. */
  boolean fetchFailed;

  /** Whether its next page is on disk, and is read first or waits for that. */
  boolean awaitsDisk;

  /** Where a page ends that has been read for being sent for; 0 where there is none. */
  long readEnd;

  private int failures;
  private long failedNanos;

  Residency(
      ImportedModel model,
      Structure structure,
      List<Group> groups,
      Holding holding,
      InPlaceWeights inPlace,
      List<Content> contents) {
    this.inPlace = inPlace;
    this.contents = contents;
    this.groupBytes = groups.stream().map(Group::byteSize).toList();
    this.model = model;
    this.structure = structure;
    this.holding = holding;
  }

  /** What is said where a model is asked for that has none, or is about to go. */
  static StatusException notInService(ModelVersion version) {
    return new StatusException(Status.NOT_FOUND, "model " + version + " is not in service");
  }

  /** Pages that the whole model takes. */
  int slotsNeeded() {
    return model.plan().weightBytes() == 0 ? 0 : structure.slots();
  }

  int missingSlots() {
    return slotsNeeded() - pages.size();
  }

  boolean isArriving() {
    for (Arrival arrival : arrivals) {
      if (!arrival.event().isDone()) {
        return true;
      }
    }
    return false;
  }

  /** Whether copies to its pages or from them are under way. */
  boolean isBeingCopied() {
    return readers > 0 || isArriving();
  }

  boolean hasFailed() {
    for (Arrival arrival : arrivals) {
      if (arrival.hasFailed()) {
        return true;
      }
    }
    return false;
  }

  /** Whether every byte is there or on its way. */
  boolean isComplete() {
    return missingSlots() == 0 && !hasFailed();
  }

  boolean isMounted() {
    return mountedIn != null;
  }

  /** Its range; it is mounted. */
  StructureRange range() {
    return Objects.requireNonNull(mountedIn, "the model is not mounted");
  }

  /** Whether pages may be taken away: nothing runs on them, reads them or writes them. */
  boolean isEvictable() {
    return leases == 0 && !pages.isEmpty() && !isBeingCopied();
  }

  /** Whether the copy of its table, if there is one, may be taken away: no run reads it. */
  boolean canLoseTable() {
    return leases == 0 || !inPlace.copy().isWhole();
  }

  /** Pages of the copy of its table that runs may read. */
  Collection<Page> tablePagesRead() {
    return canLoseTable() ? List.of() : inPlace.copy().pages();
  }

  /** What the ledger says of it. */
  Ledger.Entry entry(long pageBytes) {
    return new Ledger.Entry(
        model.version(),
        model.plan().weightBytes(),
        model.plan().inPlaceBytes(),
        pages.size() * pageBytes,
        inPlace.copy().pages().size() * pageBytes,
        isArriving() || inPlace.copy().isArriving(),
        leases,
        groupBytes,
        holding.isOffline());
  }

  /** All of which pages may be taken away but some. */
  static Predicate<Residency> evictableBut(Set<Residency> spared) {
    return residency -> !spared.contains(residency) && residency.isEvictable();
  }

  /** Whether it is to go, or its unit has gone, and it can follow. */
  boolean isLeftBehind() {
    @Nullable Unit unit = holding.unit();
    return leaves && (unit == null || !unit.isWhole()) && isEvictable();
  }

  /** A page could not be fetched. */
  void fetchFailed(long nowNanos) {
    fetchFailed = true;
    failedNanos = nowNanos;
    failures++;
  }

  /** What was on its way has come well; the page behind it may have failed to be sent for. */
  void arrived() {
    failures = fetchFailed ? failures : 0;
  }

  private boolean restsFromFailure(long nowNanos) {
    long rest = FIRST_REST.toNanos() << Math.min(failures - 1, MOST_DOUBLINGS);
    return fetchFailed && failures > 0 && nowNanos - failedNanos < rest;
  }

  /**
   * Whether a page may be fetched ahead for it; parts of units come with the others. Not where it
   * would keep its range from a variant that waits for that: what is on its way cannot yield.
   */
  boolean canGain(long nowNanos) {
    return arrivals.isEmpty() && canGainBehind(nowNanos);
  }

  /** The same where its latest page may be on its way. */
  boolean canGainBehind(long nowNanos) {
    return !retired
        && holding.unit() == null
        && (!isMounted() || structure.line.isEmpty())
        && !awaitsDisk
        && !restsFromFailure(nowNanos)
        && missingSlots() > 0
        && !hasFailed();
  }
}
