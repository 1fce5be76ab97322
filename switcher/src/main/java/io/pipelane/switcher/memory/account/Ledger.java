package io.pipelane.switcher.memory.account;

import io.pipelane.modelstore.ModelVersion;
import java.util.List;

/**
 * The account of a device's memory for weights at one moment, by holder.
 *
 * @param capacityBytes what the device may hold of weights
 * @param lentBytes pages lent, by the device's own count
 * @param lanesBytes those of them that lanes have borrowed
 * @param sharedBytes what models hold together beyond its first holder: without sharing, so much
 *     more would be lent
 */
public record Ledger(
    long capacityBytes,
    long pageBytes,
    long lentBytes,
    long lanesBytes,
    long sharedBytes,
    List<Entry> entries) {
  /** A ledger of which lanes have borrowed nothing, and models share nothing. */
  public Ledger(long capacityBytes, long pageBytes, long lentBytes, List<Entry> entries) {
    this(capacityBytes, pageBytes, lentBytes, 0, 0, entries);
  }

  public Ledger {
    entries = List.copyOf(entries);
  }

  /**
   * One model's part.
   *
   * @param weightBytes all its streamed weights
   * @param inPlaceBytes what it reads where it lies in host memory, on top of those
   * @param residentBytes its pages on the device, whole pages, those that others hold, too, among
   *     them
   * @param copiedBytes pages of a copy on the device of what it reads in place, whole pages, on top
   *     of the resident ones
   * @param arriving whether a transfer is under way
   * @param leases runs under way
   * @param groupBytes what each of the copies moves that bring the whole model in
   * @param offline whether offline work alone has used it here lately; it gives way first then,
   *     unless other devices need it
   */
  public record Entry(
      ModelVersion model,
      long weightBytes,
      long inPlaceBytes,
      long residentBytes,
      long copiedBytes,
      boolean arriving,
      int leases,
      List<Long> groupBytes,
      boolean offline) {
    /** An entry of a model that online work uses, and of which no table is copied. */
    public Entry(
        ModelVersion model,
        long weightBytes,
        long inPlaceBytes,
        long residentBytes,
        boolean arriving,
        int leases,
        List<Long> groupBytes) {
      this(model, weightBytes, inPlaceBytes, residentBytes, 0, arriving, leases, groupBytes, false);
    }

    public Entry {
      groupBytes = List.copyOf(groupBytes);
    }

    /** Copies that bring the whole model in. */
    public int groups() {
      return groupBytes.size();
    }
  }

  /**
   * Checks that the parts add up to the whole and stay inside the capacity.
   *
   * @throws IllegalStateException naming the sum that does not hold
   */
  public void verify() {
    long resident = entries.stream().mapToLong(Entry::residentBytes).sum();
    long copied = entries.stream().mapToLong(Entry::copiedBytes).sum();
    require(
        resident - sharedBytes + copied + lanesBytes == lentBytes,
        "models hold %d, %d of it together, copies of tables %d, lanes %d, lent are %d"
            .formatted(resident, sharedBytes, copied, lanesBytes, lentBytes));
    require(lentBytes <= capacityBytes, lentBytes + " lent exceed " + capacityBytes);
    for (Entry entry : entries) {
      long whole = Math.ceilDiv(entry.weightBytes, pageBytes) * pageBytes;
      require(entry.residentBytes <= whole, entry.model + " holds more than it has");
      require(
          entry.copiedBytes <= Math.ceilDiv(entry.inPlaceBytes, pageBytes) * pageBytes,
          entry.model + " has more of its table than there is");
      require(entry.leases >= 0, entry.model + " has fewer than no leases");
      require(
          entry.leases == 0 || entry.residentBytes == whole,
          entry.model + " runs without all its pages");
    }
  }

  /** Whether nothing runs and nothing moves. */
  public boolean isQuiet() {
    return entries.stream().noneMatch(entry -> entry.leases > 0 || entry.arriving);
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalStateException("ledger: " + message);
    }
  }
}
