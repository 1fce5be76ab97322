package io.pipelane.lanes.calibration;

import java.util.List;

/**
 * The times of copies from host memory to a device, by their size.
 *
 * @param copies measured, in rising order of size, each one of several in a row
 */
public record LinkProfile(List<Copy> copies) {
  public LinkProfile {
    copies = List.copyOf(copies);
    if (copies.isEmpty()) {
      throw new IllegalArgumentException("a link needs one measured copy at least");
    }
    for (int i = 1; i < copies.size(); i++) {
      if (copies.get(i).bytes <= copies.get(i - 1).bytes) {
        throw new IllegalArgumentException("copies must be in rising order of size: " + copies);
      }
    }
  }

  /** One copy of so many bytes. */
  public record Copy(long bytes, double nanos) {
    public Copy {
      if (bytes <= 0 || !(nanos > 0)) {
        throw new IllegalArgumentException("no copy: %d bytes in %f ns".formatted(bytes, nanos));
      }
    }

    double nanosPerByte() {
      return nanos / bytes;
    }
  }

  /**
   * How long a copy takes, in nanoseconds: between measured sizes in proportion, beyond the largest
   * at its rate, below the smallest no less than {@link #costPerCopyNanos}.
   */
  public double copyNanos(long bytes) {
    Copy first = copies.getFirst();
    if (bytes <= first.bytes) {
      double cost = Math.min(costPerCopyNanos(), first.nanos);
      return cost + (first.nanos - cost) * bytes / first.bytes;
    }
    for (int i = 1; i < copies.size(); i++) {
      Copy low = copies.get(i - 1);
      Copy high = copies.get(i);
      if (bytes <= high.bytes) {
        double part = (double) (bytes - low.bytes) / (high.bytes - low.bytes);
        return low.nanos + part * (high.nanos - low.nanos);
      }
    }
    return copies.getLast().nanosPerByte() * bytes;
  }

  /** What a copy of so many bytes gets out of the link, in bytes per second. */
  public double bandwidth(long bytes) {
    return bytes / copyNanos(bytes) * 1e9;
  }

  /**
   * What a copy costs beside its bytes, in nanoseconds: the constant term of the line {@code cost +
   * bytes / rate} that comes closest to the measured copies, relative to each (weighted least
   * squares).
   */
  public double costPerCopyNanos() {
    double weights = 0;
    double meanBytes = 0;
    double meanNanos = 0;
    for (Copy copy : copies) {
      double weight = weight(copy);
      weights += weight;
      meanBytes += weight * copy.bytes;
      meanNanos += weight * copy.nanos;
    }
    meanBytes /= weights;
    meanNanos /= weights;
    double covariance = 0;
    double variance = 0;
    for (Copy copy : copies) {
      covariance += weight(copy) * (copy.bytes - meanBytes) * (copy.nanos - meanNanos);
      variance += weight(copy) * (copy.bytes - meanBytes) * (copy.bytes - meanBytes);
    }
    return variance == 0 ? 0 : Math.max(0, meanNanos - covariance / variance * meanBytes);
  }

  private static double weight(Copy copy) {
    return 1 / (copy.nanos * copy.nanos);
  }
}
