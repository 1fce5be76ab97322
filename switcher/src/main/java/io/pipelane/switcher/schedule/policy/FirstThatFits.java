package io.pipelane.switcher.schedule.policy;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import io.pipelane.switcher.schedule.queue.SchedulingPolicy;
import io.pipelane.switcher.schedule.queue.WorkAhead;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The policy by which requests run in the order in which they, or the offline jobs that they are
 * of, came, if they fit (Salus' PACK: MLSys version §4.1, short paper §3). One that does not fit
 * beside those that run is skipped.
 */
final class FirstThatFits implements SchedulingPolicy {
  /*
   * Nobody starves. Whoever skips a request skips the oldest one, too, unless the skipped one is
   * the oldest. The oldest is skipped `mostSkips` times, then nothing else starts before it. So
   * when k requests have come before a request, at most (k + 1) * mostSkips that came later start
   * before it. The oldest fits once the runs under way have ended, as anything fits when nothing
   * runs. What comes of a job that is there already counts as having come with it.
   */
  private final Room room;
  private final int mostSkips;
  private final ComingOrder requests = new ComingOrder();
  private int skips;

  FirstThatFits(Room room, int mostSkips) {
    this.room = room;
    this.mostSkips = mostSkips;
  }

  @Override
  public void add(QueuedRequest request) {
    requests.add(request);
  }

  @Override
  public @Nullable QueuedRequest poll(long nowNanos) {
    boolean oldest = true;
    for (QueuedRequest next : requests) {
      if (room.fits(next)) {
        requests.remove(next);
        skips = oldest ? 0 : skips + 1;
        room.take(next);
        return next;
      }
      if (skips == mostSkips) {
        return null;
      }
      oldest = false;
    }
    return null;
  }

  @Override
  public void take(QueuedRequest request, long nowNanos) {
    remove(request);
    room.take(request);
  }

  @Override
  public void remove(QueuedRequest request) {
    boolean oldest = !requests.isEmpty() && requests.first() == request;
    requests.remove(request);
    skips = oldest ? 0 : skips;
  }

  @Override
  public List<QueuedRequest> first(int count, long nowNanos) {
    return requests.stream().limit(count).toList();
  }

  /** Any that came before may be passed, but by one that needs the same room. */
  @Override
  public WorkAhead ahead(QueuedRequest request, long nowNanos) {
    List<QueuedRequest> certain = new ArrayList<>();
    long others = 0;
    for (QueuedRequest other : requests) {
      if (other.key().equals(request.key())) {
        certain.add(other);
      } else {
        others += other.leastNanos();
      }
    }
    return new WorkAhead(certain, others);
  }

  @Override
  public List<QueuedRequest> alike(QueuedRequest request, int count) {
    return request.alikeIn(requests.stream(), count);
  }

  @Override
  public boolean heedsEnds() {
    return true;
  }

  @Override
  public void ended(QueuedRequest request, long nowNanos) {
    room.giveBack(request);
  }
}
