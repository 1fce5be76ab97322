package io.pipelane.switcher.residency;

/**
 * A model as a residency policy sees it: how often it is used, what its pages save, and how many of
 * them are on the device. Changed through {@link Holdings} only.
 */
public final class Holding {
  final int id;
  final Usage usage;
  StallCurve curve;
  int pages;

  /** A policy's own note of the latest use. */
  double noted;

  /** The place in the order of giving way; see {@link Holdings}. */
  double worth;

  Holding(int id, StallCurve curve, Usage usage) {
    this.id = id;
    this.curve = curve;
    this.usage = usage;
  }

  /** What its pages save. */
  public StallCurve curve() {
    return curve;
  }

  public Usage usage() {
    return usage;
  }

  /** Leading pages that are on the device. */
  public int pages() {
    return pages;
  }

  int missing() {
    return curve.pages() - pages;
  }
}
