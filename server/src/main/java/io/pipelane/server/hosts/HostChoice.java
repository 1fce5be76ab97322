package io.pipelane.server.hosts;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The choice of the hosts that a request is given to, one after another until one answers. Without
 * state.
 */
final class HostChoice {
  /*
   * The rule of SwitcherGroup's Router, one level up: the least wait + stall. Runs are taken to be
   * as long everywhere. Another host must be sooner by a hop, and what it says is as old as its
   * last announcement; RemoteHost adds what it was given since.
   *
   * Requests of models that keep state all go to one host, the first of those that have the model
   * by a hash of both names (rendezvous hashing: Thaler and Ravishankar, 1998), so that hosts agree
   * without asking each other, and a host that comes or goes moves its own share of models only.
   *
   * A version number may stand for different contents while hosts are updated one after another.
   * A host that has a content gives requests to others with the same only. One that has none gives
   * them to those with the content that most have, and to the rest when these do not answer.
   *
   * A host that has not answered in time is asked after all others, this one included. Not so the
   * owner of state: it may only be slow, and what it holds is nowhere else.
   */

  /** Other hosts that a request is given to at most. */
  static final int MOST_TRIED = 2;

  private HostChoice() {}

  /**
   * This host as it concerns a request.
   *
   * @param name the host's own
   * @param beforeRunNanos from the request's coming to the beginning of its run here; empty where
   *     it cannot be answered here
   * @param version that would answer here, or the one asked for; 0 for any
   * @param keepsState whether the model is known here to keep state
   * @param content the hash of what would answer here; empty where it cannot, or is not known
   */
  record Here(
      String name, OptionalLong beforeRunNanos, long version, boolean keepsState, String content) {}

  /**
   * The hosts to ask.
   *
   * @param hosts in this order, before this one
   * @param keepsState whether the request must not be sent twice
   * @param known whether any other host has the model, be it one that is left out at present
   * @param heedTimeouts whether a request's own timeout counts on all that have it
   */
  record Plan(List<RemoteHost> hosts, boolean keepsState, boolean known, boolean heedTimeouts) {
    /** Of a host that knows no other. */
    static final Plan NOBODY = new Plan(List.of(), false, false, false);

    Plan {
      hosts = List.copyOf(hosts);
    }
  }

  private record Candidate(RemoteHost host, OfferedModel model, long nanos) {
    boolean isLate(long nowNanos) {
      return host.isLate(nowNanos);
    }
  }

  /** Chooses. */
  static Plan choose(
      Here here, String model, Collection<RemoteHost> others, long hopNanos, long nowNanos) {
    List<Candidate> having =
        others.stream()
            .filter(host -> !host.announcement().leaving())
            .flatMap(host -> candidate(host, model, here.version).stream())
            .filter(candidate -> candidate.model.mayBe(here.content))
            .toList();
    List<Candidate> usable =
        having.stream().filter(candidate -> !candidate.host.isSuspect(nowNanos)).toList();
    boolean keepsState =
        here.keepsState || having.stream().anyMatch(candidate -> candidate.model.keepsState());
    Stream<Candidate> before =
        keepsState ? owners(here, model, usable) : sooner(here, usable, hopNanos, nowNanos);
    String content = here.content.isEmpty() ? mostHave(usable) : here.content;
    List<RemoteHost> hosts =
        before
            .sorted(Comparator.comparing(candidate -> !candidate.model.mayBe(content)))
            .sorted(Comparator.comparing(candidate -> !keepsState && candidate.isLate(nowNanos)))
            .limit(MOST_TRIED)
            .map(Candidate::host)
            .toList();
    boolean heedTimeouts = having.stream().allMatch(candidate -> candidate.model.heedsTimeouts());
    return new Plan(hosts, keepsState, !having.isEmpty(), heedTimeouts);
  }

  private static Optional<Candidate> candidate(RemoteHost host, String model, long version) {
    return host.offered(model, version)
        .map(offered -> new Candidate(host, offered, host.beforeRunNanos(offered)));
  }

  /** The content that most have, the same for whoever knows the same; empty where nobody says. */
  private static String mostHave(List<Candidate> candidates) {
    Map<String, Long> counts =
        candidates.stream()
            .map(candidate -> candidate.model.content())
            .filter(content -> !content.isEmpty())
            .collect(Collectors.groupingBy(content -> content, Collectors.counting()));
    return counts.entrySet().stream()
        .max(Map.Entry.<String, Long>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
        .map(Map.Entry::getKey)
        .orElse("");
  }

  private static Stream<Candidate> sooner(
      Here here, List<Candidate> usable, long hopNanos, long nowNanos) {
    long least = here.beforeRunNanos.orElse(Long.MAX_VALUE);
    return usable.stream()
        .filter(candidate -> here.beforeRunNanos.isEmpty() || !candidate.isLate(nowNanos))
        .filter(candidate -> candidate.nanos + hopNanos < least)
        .sorted(Comparator.comparingLong(Candidate::nanos));
  }

  private static Stream<Candidate> owners(Here here, String model, List<Candidate> usable) {
    @Nullable Long own = here.beforeRunNanos.isPresent() ? weight(model, here.name) : null;
    return usable.stream()
        .filter(candidate -> own == null || weight(candidate, model) > own)
        .sorted(Comparator.comparingLong((Candidate each) -> weight(each, model)).reversed());
  }

  private static long weight(Candidate candidate, String model) {
    return weight(model, candidate.host.address.toString());
  }

  /** FNV-1a over both names, then the finalizer of SplitMix64, so that all bits count. */
  private static long weight(String model, String host) {
    long hash = 0xcbf29ce484222325L;
    String both = model + '\n' + host;
    for (int i = 0; i < both.length(); i++) {
      hash = (hash ^ both.charAt(i)) * 0x100000001b3L;
    }
    hash = (hash ^ (hash >>> 30)) * 0xbf58476d1ce4e5b9L;
    hash = (hash ^ (hash >>> 27)) * 0x94d049bb133111ebL;
    return hash ^ (hash >>> 31);
  }
}
