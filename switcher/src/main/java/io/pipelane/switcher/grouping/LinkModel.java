package io.pipelane.switcher.grouping;

import io.pipelane.lanes.calibration.LinkProfile;
import io.pipelane.lanes.calibration.LinkProfile.Copy;
import java.util.ArrayList;
import java.util.List;

/**
 * How long the link from host memory to a device is busy with one copy: T of PipeSwitch §4.2. A
 * larger copy never takes less.
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

  /** The time of one copy, its cost included, in nanoseconds; none for nothing. */
  public long copyNanos(long bytes) {
    return bytes == 0 ? 0 : (long) Math.ceil(profile.copyNanos(bytes));
  }
}
