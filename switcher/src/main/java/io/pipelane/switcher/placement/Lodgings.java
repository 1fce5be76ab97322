package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.PeerMemory;
import io.pipelane.switcher.memory.PeerMemory.Missed;
import io.pipelane.switcher.residency.RoomForOthers;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The choice of which device holds which models that others have no room for: where they save more
 * than the device's own would. Not safe for several threads.
 */
final class Lodgings {
  /*
   * Models are placed one by one, those first of which a byte elsewhere saves most. Each is placed
   * where it costs the device's own requests least, if it saves a good deal more than that. Where
   * all are of one size and every device reads every other, no choice of models and places is
   * better. Otherwise it is short of the best by one model a device at most, as it is with
   * knapsacks.
   *
   * A model that is on one of these devices in any case is read there, and counts for more there.
   * One that lodges somewhere stays there while it is worth it: moving it would cost a copy and
   * gain little. What is said is a wish: a device brings in what is worth its copy, page by page,
   * while its link is idle.
   */

  /** Models of one device that are looked at, those that lose most by the byte. */
  private static final int MOST_MISSED = 64;

  private final List<Member> members;

  Lodgings(List<Member> members) {
    this.members = members;
  }

  /** Whether any device reads another's memory. */
  boolean arePossible() {
    return members.stream()
        .anyMatch(
            guest ->
                members.stream()
                    .anyMatch(host -> guest.switcher.peers().reads(host.switcher.peers())));
  }

  /** A device that may hold models for others, and what it is to hold. */
  static final class Host {
    private final RoomForOthers room;
    private final Set<ModelVersion> lodgers;
    private final Set<ModelVersion> own;
    private final Map<ModelVersion, Missed> held = new LinkedHashMap<>();

    /**
     * A device.
     *
     * @param lodgers what it holds for others already, or would if it had been worth it
     * @param own what is there as a whole in any case
     */
    Host(RoomForOthers room, Set<ModelVersion> lodgers, Set<ModelVersion> own) {
      this.room = room;
      this.lodgers = lodgers;
      this.own = own;
    }

    static Host of(PeerMemory memory) {
      return new Host(memory.room(), Set.copyOf(memory.lodgers()), Set.copyOf(memory.own()));
    }

    /** One that can hold nothing. */
    static Host without() {
      return new Host(RoomForOthers.none(), Set.of(), Set.of());
    }

    /** What it is to hold, the most wanted first. */
    List<Missed> held() {
      return List.copyOf(held.values());
    }

    private boolean has(Missed missed) {
      return own.contains(missed.version()) || held.containsKey(missed.version());
    }

    private boolean isWorthHolding(Missed missed) {
      return has(missed) || room.isWorthHolding(missed.weightBytes(), missed.waitedPerSecond());
    }

    private void hold(Missed missed) {
      if (!has(missed)) {
        room.hold(missed.weightBytes());
      }
      held.merge(missed.version(), missed, Missed::and);
    }
  }

  /** A model that a device misses, and those that it could read it from. */
  record Wish(Missed missed, List<Host> hosts) {}

  /** Looks at all devices, and tells each which models it should hold for others. */
  void review() {
    Map<PeerMemory, List<Missed>> missed = new LinkedHashMap<>();
    for (Member guest : members) {
      PeerMemory memory = guest.switcher.peers();
      missed.put(memory, guest.isUsable() ? memory.missed(MOST_MISSED) : List.of());
    }
    boolean isAnyMissed = missed.values().stream().anyMatch(models -> !models.isEmpty());
    Map<PeerMemory, Host> hosts = new LinkedHashMap<>();
    for (Member member : members) {
      PeerMemory memory = member.switcher.peers();
      hosts.put(memory, isAnyMissed && member.isUsable() ? Host.of(memory) : Host.without());
    }
    List<Wish> wishes = new ArrayList<>();
    missed.forEach(
        (guest, models) -> {
          List<Host> read = hosts.keySet().stream().filter(guest::reads).map(hosts::get).toList();
          models.forEach(model -> wishes.add(new Wish(model, read)));
        });
    place(wishes);
    hosts.forEach((memory, host) -> memory.lodge(host.held()));
  }

  /** Has models be held where they are worth it. */
  static void place(List<Wish> wishes) {
    wishes.stream()
        .sorted(Comparator.comparingDouble((Wish wish) -> -wish.missed.waitedPerByte()))
        .forEach(wish -> best(wish).ifPresent(host -> host.hold(wish.missed)));
  }

  private static Optional<Host> best(Wish wish) {
    long bytes = wish.missed.weightBytes();
    return wish.hosts.stream()
        .filter(host -> host.isWorthHolding(wish.missed))
        .min(
            Comparator.<Host, Boolean>comparing(host -> !host.has(wish.missed))
                .thenComparing(host -> !host.lodgers.contains(wish.missed.version()))
                .thenComparingDouble(host -> host.room.lossPerSecond(bytes))
                .thenComparingLong(host -> -host.room.idleBytes()));
  }
}
