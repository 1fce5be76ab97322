package io.pipelane.switcher.memory;

import io.pipelane.switcher.memory.PagesAhead.Sent;
import io.pipelane.switcher.residency.Holding;
import io.pipelane.switcher.residency.IdleMoves;
import io.pipelane.switcher.residency.Pacing;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import java.util.function.Predicate;

/**
 * The fetching of weights ahead of runs, page by page, while the link has nothing else to do.
 *
 * <p>Guarded by the memory daemon's lock.
 */
final class FetchAhead {
  private static final System.Logger LOG = System.getLogger(FetchAhead.class.getName());

  /*
   * A device's copies pass one engine, first come, first served (decision 0015). So nothing is sent
   * ahead while a run's copies are under way, and one page is sent at a time: a run's copies come
   * behind one page, whatever is fetched ahead. Only the first queued model's pages follow each
   * other without a pause, one on its way and one behind it: the next run waits for both in any
   * case.
   *
   * Queued models come first, in their order, then wishes, then planned prefixes, then what other
   * devices have no room for, then copies of hot models' tables, then pages that stay and show what
   * lies elsewhere. The last take nothing of the budget, and let all other copies go first: so they
   * go on while offline work waits for memory, which waits for none of them. Pages of the first two
   * are not taken for each other. Where the device rests behind copies all but the first are held
   * back (Pacing), except for the wishes that say when, and whose time is nearly over.
   */
  private final WeightMemory memory;
  private final PeerMemory peers;
  private final IdleMoves idleMoves;
  private final Wishes wishes;
  private final Pacing pacing;
  private final PagesAhead ahead;
  private final TablesAhead tables;
  private final StayingPages staying;
  private final LongSupplier nanoClock;
  private boolean lacksRoom;

  /**
   * Fetches nothing yet.
   *
   * @param wishes that are fulfilled while there is time
   * @param pacing of what no request waits for
   * @param ahead sends for pages
   * @param tables sends for what is copied when nothing else is wanted
   * @param staying sends for what is copied when nothing at all is wanted
   */
  FetchAhead(
      WeightMemory memory,
      PeerMemory peers,
      IdleMoves idleMoves,
      Wishes wishes,
      Pacing pacing,
      PagesAhead ahead,
      TablesAhead tables,
      StayingPages staying,
      LongSupplier nanoClock) {
    this.memory = memory;
    this.peers = peers;
    this.idleMoves = idleMoves;
    this.wishes = wishes;
    this.pacing = pacing;
    this.ahead = ahead;
    this.tables = tables;
    this.staying = staying;
    this.nanoClock = nanoClock;
  }

  /**
   * Sends for the next page, if there is one to send for and the link is idle.
   *
   * @param queued models of requests that wait, the first to run first
   * @param runs under way
   * @param offlineWaits whether offline work waits for memory: it is passed for models alone that
   *     online work wants
   * @return whether any is on its way now
   */
  boolean next(List<Residency> queued, int runs, boolean offlineWaits, long nowNanos) {
    lacksRoom = false;
    boolean isLinkIdle = isLinkIdle();
    if (memory.copiesUnderWay.get() > 0 || ahead.isFull()) {
      return !isLinkIdle;
    }
    memory.settleAll();
    Predicate<Residency> may = residency -> !offlineWaits || !residency.holding.isOffline();
    List<Residency> asked = queued.stream().filter(may).toList();
    List<Residency> wished = wishes.open(nowNanos).stream().filter(may).toList();
    List<Residency> urgent = wishes.urgent(nowNanos).stream().filter(may).toList();
    asked.forEach(residency -> residency.lodged = false);
    Set<Residency> waiting = Set.copyOf(asked);
    if (isLinkIdle) {
      Set<Residency> spared = union(waiting, wished);
      boolean sent;
      int awaitedDisk;
      do { // Who is found to wait for the disk is passed over.
        awaitedDisk = ahead.awaitingDisk();
        sent = fetchFirst(asked, waiting) || fetchFirst(urgent, spared);
        if (!sent && !pacing.holdsBack(runs, nowNanos)) {
          sent = fetchFirst(wished, spared);
          if (!sent && !offlineWaits) {
            sent =
                fetchPlanned(waiting, nowNanos) || fetchLodger(spared) || tables.sendNext(nowNanos);
          }
          sent = sent || staying.sendNext(nowNanos);
        }
      } while (!sent && ahead.awaitingDisk() > awaitedDisk);
      if (sent) {
        pacing.sent(nowNanos);
      }
    }
    fetchBehind(asked, waiting);
    return !ahead.isEmpty() || !tables.isEmpty() || !staying.isEmpty();
  }

  /** Whether no page is on its way; one behind another counts from when that has arrived. */
  private boolean isLinkIdle() {
    List<Sent> over = ahead.over();
    for (Sent sent : over) {
      if (sent.arrival().isThere()) {
        wishes.broughtIn(sent.residency());
      }
    }
    boolean isIdle = ahead.isEmpty() && tables.isEmpty() && staying.isEmpty();
    if (!over.isEmpty() || isIdle) {
      pacing.arrived(arrivedNanos());
    }
    if (!over.isEmpty() && !ahead.isEmpty()) {
      pacing.sent(ahead.arrivedNanos());
    }
    return isIdle;
  }

  private long arrivedNanos() {
    return later(ahead.arrivedNanos(), later(tables.arrivedNanos(), staying.arrivedNanos()));
  }

  private static long later(long one, long other) {
    return one - other > 0 ? one : other;
  }

  /** Sends for the first queued model's next page behind the one that is on its way. */
  private void fetchBehind(List<Residency> asked, Set<Residency> spared) {
    boolean isNextRuns = !asked.isEmpty() && ahead.endsWith(asked.getFirst());
    if (isNextRuns && lacksAnotherPage(asked.getFirst())) {
      fetchWanted(asked.getFirst(), spared);
    }
  }

  /** A plan to be solved without the daemon's lock, and followed. */
  Optional<IdleMoves.Planning> planDue(long nowNanos) {
    return idleMoves.due(nowNanos);
  }

  void follow(IdleMoves.Planning solved) {
    idleMoves.follow(solved);
  }

  /** Notes that a model is wanted soon. */
  void wish(Residency residency, Optional<Duration> within, long nowNanos) {
    wishes.add(residency, within, nowNanos);
  }

  /** Notes that a model is wanted still, when there is time; whether that had been forgotten. */
  boolean keepWishing(Residency residency, long nowNanos) {
    boolean renews = !wishes.has(residency);
    if (renews) {
      wishes.add(residency, Optional.empty(), nowNanos);
    }
    return renews;
  }

  /** A model is not wanted soon any more. */
  void forgetWish(Residency residency) {
    wishes.forget(residency);
  }

  /** A model is going. */
  void forget(Residency residency) {
    wishes.forget(residency);
    peers.forget(residency);
  }

  private static Set<Residency> union(Set<Residency> first, List<Residency> second) {
    if (second.isEmpty()) {
      return first;
    }
    Set<Residency> all = new HashSet<>(first);
    all.addAll(second);
    return all;
  }

  private boolean fetchFirst(List<Residency> wanted, Set<Residency> spared) {
    for (Residency residency : wanted) {
      if (lacksAPage(residency)) {
        boolean sent = fetchWanted(residency, spared);
        lacksRoom |= !sent && residency.canGain(nanoClock.getAsLong());
        return sent;
      }
    }
    return false;
  }

  /** Whether what is asked for or wished was not sent for the last time, as there was no room. */
  boolean lacksRoom() {
    return lacksRoom;
  }

  private boolean fetchWanted(Residency residency, Set<Residency> spared) {
    residency.lodged = false;
    long fetched = ahead.send(residency, Residency.evictableBut(spared));
    if (fetched > 0) {
      memory.counters.pagesWanted++;
      memory.counters.bytesWanted += fetched;
    }
    return fetched > 0;
  }

  private boolean fetchPlanned(Set<Residency> spared, long nowNanos) {
    Optional<Residency> into;
    do {
      into =
          idleMoves
              .next(
                  memory.roomBytes() / memory.pageBytes(),
                  holding -> memory.owner(holding).canGain(nowNanos),
                  holding -> canGiveWay(holding, spared),
                  nowNanos)
              .map(memory::owner);
    } while (into.isPresent() && !lacksAPage(into.get()));
    if (into.isEmpty()) {
      return false;
    }
    Set<Residency> kept = new HashSet<>(spared);
    kept.add(into.get());
    into.get().lodged = false;
    long fetched = ahead.send(into.get(), Residency.evictableBut(kept));
    if (into.get().awaitsDisk) {
      idleMoves.putOff();
    }
    memory.counters.pagesPlanned += fetched > 0 ? 1 : 0;
    memory.counters.bytesPlanned += fetched;
    return fetched > 0;
  }

  private boolean fetchLodger(Set<Residency> spared) {
    return peers
            .next(spared)
            .filter(this::lacksAPage)
            .map(lodger -> ahead.send(lodger, peers.mayGiveWayTo(lodger, spared)))
            .orElse(0L)
        > 0;
  }

  /** Gives a model what others have of its next pages; whether the one behind can be sent for. */
  private boolean lacksAPage(Residency residency) {
    long now = nanoClock.getAsLong();
    if (residency.canGain(now)) {
      join(residency, now);
    }
    return residency.canGain(now);
  }

  /** The same where others of its pages are on their way. */
  private boolean lacksAnotherPage(Residency residency) {
    long now = nanoClock.getAsLong();
    if (residency.canGainBehind(now)) {
      join(residency, now);
    }
    return residency.canGainBehind(now);
  }

  private void join(Residency residency, long nowNanos) {
    try {
      memory.join(residency);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "pages of " + residency.model.version() + " cannot be mapped", e);
      residency.fetchFailed(nowNanos);
    }
  }

  private boolean canGiveWay(Holding holding, Set<Residency> spared) {
    Residency residency = memory.owner(holding);
    return residency.isEvictable() && !spared.contains(residency);
  }

  /**
   * Sends for the next page of a model that offline work waits for, behind everything else.
   *
   * @return the bytes on their way; 0 when others' pages are on their way, there is no room, or the
   *     page cannot be sent for
   */
  long sendBehindOthers(Residency residency) {
    boolean isLinkIdle = isLinkIdle() || (ahead.isEmpty() && tables.isEmpty());
    if (!isLinkIdle
        || memory.copiesUnderWay.get() > 0
        || residency.awaitsDisk
        || !residency.arrivals.isEmpty()) {
      return 0;
    }
    return ahead.send(residency, Residency.evictableBut(Set.of(residency)));
  }
}
