package io.pipelane.bench.levers;

import io.pipelane.config.PipelaneConfig;
import java.util.Map;

/** A part of switching that can be turned off, and how a server's configuration says so. */
enum Lever {
  NONE("everything on", "", ""),
  MEASURED_GROUPS("groups of equal bytes", "switching.grouping", "equal"),
  GROUPS("a copy for each segment", "switching.grouping", "segment"),
  PIPELINE("one copy for all, then compute", "switching.grouping", "whole"),
  PARTIAL_RESIDENCY("whole models, lru", "residency.policy", "lru"),
  PARTIAL_RESIDENCY_LFU("whole models, lfu", "residency.policy", "lfu"),
  PARTIAL_RESIDENCY_SIZE("whole models, greedy-dual-size", "residency.policy", "greedy-dual-size"),
  RESIDENCY("nothing stays", "residency.policy", "nothing-stays"),
  IDLE_PREFETCH("no idle prefetch", "residency.idle-prefetch", "false"),
  PREFETCH("no prefetch at all", "residency.prefetch", "false"),
  READING_IN_PLACE("nothing read in place", "switching.read-in-place", "none"),
  SHARING("no shared structures", "switching.share-structures", "never"),
  SHARED_PAGES("no shared pages", "residency.share-pages", "false", Workload.VERSIONS),
  TIERS("all read, then copied", "host-tier.pipeline", "false", Workload.FROM_DISK),
  PACING("no pacing", "residency.pacing", "false", Workload.BESIDE_LOADS);

  private final String label;
  private final String key;
  private final String off;
  private final Workload shownBy;

  Lever(String label, String key, String off) {
    this(label, key, off, Workload.MIX);
  }

  Lever(String label, String key, String off, Workload shownBy) {
    this.label = label;
    this.key = key;
    this.off = off;
    this.shownBy = shownBy;
  }

  /** What is left without it, for people. */
  String label() {
    return label;
  }

  /** Whether a workload shows what it is worth; everything on is what each is compared with. */
  boolean isShownBy(Workload workload) {
    return this == NONE || shownBy == workload;
  }

  /** What turns it off, by key. */
  Map<String, String> settings() {
    return key.isEmpty() ? Map.of() : Map.of(key, off);
  }

  /** A configuration in which it alone is off. */
  PipelaneConfig config() {
    return PipelaneConfig.of(settings());
  }
}
