package io.pipelane.server.hosts;

import io.pipelane.server.hosts.RemoteHost.Outcome;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * The counters of how forwarded requests have ended since the start, by host. Safe for any thread.
 */
final class HostCounters {
  /** Hosts beyond it are counted together. */
  private static final int MOST_HOSTS = 1024;

  private static final String OTHERS = "others";

  private final Map<String, Map<Outcome, LongAdder>> hosts = new ConcurrentHashMap<>();

  void count(String host, Outcome outcome) {
    String name = hosts.containsKey(host) || hosts.size() < MOST_HOSTS ? host : OTHERS;
    Map<Outcome, LongAdder> outcomes = hosts.computeIfAbsent(name, _ -> zeros());
    outcomes.getOrDefault(outcome, new LongAdder()).increment();
  }

  private static Map<Outcome, LongAdder> zeros() {
    Map<Outcome, LongAdder> zeros = new EnumMap<>(Outcome.class);
    for (Outcome outcome : Outcome.values()) {
      zeros.put(outcome, new LongAdder());
    }
    return zeros;
  }

  /** Counts by host, and by outcome in small letters. */
  Map<String, Map<String, Long>> read() {
    Map<String, Map<String, Long>> counts = new TreeMap<>();
    hosts.forEach(
        (host, outcomes) -> {
          Map<String, Long> read = new TreeMap<>();
          outcomes.forEach(
              (outcome, count) -> read.put(outcome.name().toLowerCase(Locale.ROOT), count.sum()));
          counts.put(host, read);
        });
    return counts;
  }
}
