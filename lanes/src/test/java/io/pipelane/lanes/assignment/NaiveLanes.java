package io.pipelane.lanes.assignment;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Algorithm 1 word for word, counting everything anew each time. */
final class NaiveLanes {
  record Placed(Job job, long lane) {}

  record Lane(long number, long size) {}

  final List<Placed> placed = new ArrayList<>();
  final List<Job> queue = new ArrayList<>();
  List<Lane> lanes = new ArrayList<>();
  long others;
  private final long capacity;
  private final int maximumLanes;
  private long next;

  NaiveLanes(long capacity, int maximumLanes) {
    this.capacity = capacity;
    this.maximumLanes = maximumLanes;
  }

  void arrive(Job job) {
    queue.add(job);
    processRequests();
  }

  void finish(String id) {
    queue.removeIf(job -> job.id().equals(id));
    placed.removeIf(p -> p.job.id().equals(id));
    lanes.removeIf(lane -> placed.stream().noneMatch(p -> p.lane == lane.number));
    processRequests();
  }

  boolean persistentChanged(long total) {
    if (total + persistent() + sizes() > capacity) {
      return false;
    }
    others = total;
    processRequests();
    return true;
  }

  long persistent() {
    return placed.stream().mapToLong(p -> p.job.persistentBytes()).sum();
  }

  long sizes() {
    return lanes.stream().mapToLong(Lane::size).sum();
  }

  private void processRequests() {
    for (Job job : List.copyOf(queue)) {
      Optional<Long> lane = findLane(job);
      if (lane.isPresent()) {
        queue.remove(job);
        placed.add(new Placed(job, lane.get()));
      }
    }
  }

  private Optional<Long> findLane(Job job) {
    long persistent = others + persistent() + job.persistentBytes();
    if (lanes.size() < maximumLanes && persistent + sizes() + job.ephemeralBytes() <= capacity) {
      lanes.add(new Lane(next, job.ephemeralBytes()));
      return Optional.of(next++);
    }
    List<Lane> ascending = new ArrayList<>(lanes);
    ascending.sort(Comparator.comparingLong(Lane::size));
    List<Lane> joinable = new ArrayList<>(lanes);
    joinable.sort(Comparator.comparingLong(Lane::size).thenComparingLong(this::jobsIn));
    for (Lane lane : joinable) {
      if (lane.size >= job.ephemeralBytes() && persistent + sizes() <= capacity) {
        return Optional.of(lane.number);
      }
    }
    for (Lane lane : ascending) {
      boolean grows = job.ephemeralBytes() > lane.size;
      if (grows && persistent + sizes() - lane.size + job.ephemeralBytes() <= capacity) {
        lanes =
            new ArrayList<>(
                lanes.stream()
                    .map(l -> l.equals(lane) ? new Lane(l.number, job.ephemeralBytes()) : l)
                    .toList());
        return Optional.of(lane.number);
      }
    }
    return Optional.empty();
  }

  private long jobsIn(Lane lane) {
    return placed.stream().filter(p -> p.lane == lane.number).count();
  }
}
