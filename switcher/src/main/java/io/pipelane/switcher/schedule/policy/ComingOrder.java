package io.pipelane.switcher.schedule.policy;

import io.pipelane.switcher.schedule.queue.QueuedRequest;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Requests in the order of their coming, or of that of their job; those that came at once as they
 * were added. Guarded by the queue's lock.
 */
final class ComingOrder implements Iterable<QueuedRequest> {
  private final TreeSet<Place> places =
      new TreeSet<>(Comparator.comparingLong(Place::cameNanos).thenComparingLong(Place::number));
  private final Map<QueuedRequest, Place> placeOf = new HashMap<>();
  private long numbers;

  private record Place(long cameNanos, long number, QueuedRequest request) {}

  void add(QueuedRequest request) {
    Place place = new Place(request.cameNanos(), numbers++, request);
    placeOf.put(request, place);
    places.add(place);
  }

  /** Takes one out, if it is in. */
  void remove(QueuedRequest request) {
    Place place = placeOf.remove(request);
    if (place != null) {
      places.remove(place);
    }
  }

  boolean isEmpty() {
    return places.isEmpty();
  }

  /** The first; there is one. */
  QueuedRequest first() {
    return places.getFirst().request;
  }

  Stream<QueuedRequest> stream() {
    return places.stream().map(Place::request);
  }

  /** {@inheritDoc} Removes nothing. */
  @Override
  public Iterator<QueuedRequest> iterator() {
    return stream().iterator();
  }
}
