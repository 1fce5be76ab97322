package io.pipelane.switcher.grouping;

import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;

/**
 * The time for which one copy keeps the link from host memory to a device busy: T of PipeSwitch
 * §4.2. A larger copy never takes less.
 *
 * @param profile what was measured of it
 */
public record LinkModel(LinkProfile profile) {
  private static final long FAR = 1L << 40;

  public LinkModel {
    profile = rising(profile);
  }

  private static LinkProfile rising(LinkProfile measured) {
    List<Copy> copies = new ArrayList<>();
    double nanos = 0;
    for (Copy copy : measured.copies()) {
      nanos = Math.max(nanos, copy.nanos());
      copies.add(new Copy(copy.bytes(), nanos));
    }
    return new LinkProfile(copies);
  }

  /** A link on which a copy takes {@code cost + bytes / rate}. */
  public static LinkModel line(double costPerCopyNanos, double bytesPerSecond) {
    double nanosPerByte = 1e9 / bytesPerSecond;
    return new LinkModel(
        new LinkProfile(
            List.of(
                new Copy(1, costPerCopyNanos + nanosPerByte),
                new Copy(FAR, costPerCopyNanos + FAR * nanosPerByte))));
  }

  /**
   * This link while others carry pieces of its copies, each as much as its rate allows.
   *
   * @param lenders the other links
   * @param aloneBytes a copy's first bytes, which the link carries alone
   */
  public LinkModel beside(List<LinkModel> lenders, long aloneBytes) {
    NavigableSet<Long> sizes = new TreeSet<>(List.of(aloneBytes));
    profile.copies().forEach(copy -> sizes.add(copy.bytes()));
    List<Copy> copies = new ArrayList<>();
    for (long bytes : sizes) {
      double own = profile.bandwidth(bytes);
      double all = own;
      for (LinkModel lender : lenders) {
        all += lender.profile.bandwidth(bytes);
      }
      long carried = Math.max(Math.min(bytes, aloneBytes), Math.round(bytes * own / all));
      copies.add(new Copy(bytes, profile.copyNanos(carried)));
    }
    return new LinkModel(new LinkProfile(copies));
  }

  /** The time of one copy, its cost included, in nanoseconds; none for nothing. */
  public long copyNanos(long bytes) {
    return bytes == 0 ? 0 : (long) Math.ceil(profile.copyNanos(bytes));
  }
}
