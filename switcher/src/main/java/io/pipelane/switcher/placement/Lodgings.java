package io.pipelane.switcher.placement;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.PeerMemory;
import io.pipelane.switcher.memory.PeerMemory.Missed;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Says which device's idle memory holds which models that other devices have no room for. Not safe
 * for several threads.
 */
final class Lodgings {
  /*
   * A model that lodges somewhere stays there while it is missed: moving it would cost a copy and
   * gain nothing. Others go where most is idle. What is said is a wish: a device brings in what it
   * has room for, and its own models push it out.
   */

  /** Models of one device that are looked at, those whose requests lose most. */
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
  private static final class Host {
    final PeerMemory memory;
    final List<ModelVersion> before;
    final List<ModelVersion> wanted = new ArrayList<>();
    long idleBytes;

    Host(Member member) {
      memory = member.switcher.peers();
      before = memory.lodgers();
      idleBytes = member.isUsable() ? memory.idleBytes() : 0;
    }

    void hold(Missed missed) {
      wanted.add(missed.version());
      idleBytes -= missed.weightBytes();
    }
  }

  /** Looks at all devices, and tells each which models it should hold for others. */
  void review() {
    List<Host> hosts = members.stream().map(Host::new).toList();
    for (Member guest : members) {
      if (guest.isUsable()) {
        PeerMemory memory = guest.switcher.peers();
        for (Missed missed : memory.missed(MOST_MISSED)) {
          find(memory, missed, hosts).ifPresent(host -> host.hold(missed));
        }
      }
    }
    for (Host host : hosts) {
      if (!host.wanted.equals(host.before)) {
        host.memory.lodge(host.wanted);
      }
    }
  }

  private static Optional<Host> find(PeerMemory guest, Missed missed, List<Host> hosts) {
    return hosts.stream()
        .filter(host -> host.idleBytes >= missed.weightBytes() && guest.reads(host.memory))
        .max(
            Comparator.<Host, Boolean>comparing(host -> host.before.contains(missed.version()))
                .thenComparingLong(host -> host.idleBytes));
  }
}
