package io.pipelane.bench.tiers;

import io.pipelane.bench.report.Column;
import java.util.List;

/** The columns of {@code bench tiers}. */
final class TiersColumns {
  static final Column DIRECT = new Column("direct_mb_per_s", "direct reader MB/s", 0);
  static final Column THROWN_AWAY = new Column("thrown_away_mb_per_s", "thrown away MB/s", 0);
  static final Column TRANSFER = new Column("transfer_mb_per_s", "disk to device MB/s", 0);
  static final Column RATIO = new Column("transfer_to_direct", "of direct", 3);
  static final Column FULL = new Column("full_mb_per_s", "through a full tier MB/s", 0);
  static final Column FULL_RATIO = new Column("full_to_direct", "of direct", 3);
  static final Column FIRST = new Column("first_mb_per_s", "through an empty tier MB/s", 0);
  static final Column FIRST_RATIO = new Column("first_to_direct", "of direct", 3);
  static final Column READ = new Column("read_mb", "read from disk MB", 1);
  static final Column WARM = new Column("warm_ms", "warm ms", 1);
  static final Column MEMORY = new Column("from_memory_ms", "from memory ms", 1);
  static final Column DISK = new Column("from_disk_ms", "from disk ms", 1);
  static final Column SERIAL = new Column("read_then_compute_ms", "read, then compute ms", 1);
  static final Column SERIAL_RATIO = new Column("from_disk_to_serial", "disk/read, compute", 2);
  static final Column WEIGHTS = new Column("weights_mb", "weights MB", 1);

  static final List<Column> ALL =
      List.of(
          DIRECT,
          THROWN_AWAY,
          TRANSFER,
          RATIO,
          FULL,
          FULL_RATIO,
          FIRST,
          FIRST_RATIO,
          READ,
          WARM,
          MEMORY,
          DISK,
          SERIAL,
          SERIAL_RATIO,
          WEIGHTS);

  static final String TITLE = "Models that are on disk only";

  static final List<String> NOTES =
      List.of(
          "Medians over rounds; ratios are taken within rounds, in which the direct reader has its"
              + " turn before and after the transfer, and its mean counts. Aimed at: 0.95 of direct.",
          "Direct reader: --threads threads that read the same weights file past the page cache"
              + " (O_DIRECT), into memory that has room for all, 256 KiB, 1 MiB or 4 MiB at a time, what"
              + " was fastest in three trials of each before the rounds. Thrown away: the same chunks where each thread has one"
              + " buffer of that size, once a round. On a virtual disk such a buffer may stay in caches,"
              + " so that this can be faster than any reader who has the weights afterwards.",
          "Disk to device: the model's transfer, from its begin until the last byte lies"
              + " in a device page, nothing of it in the page cache at first (posix_fadvise; read from disk is what the system says of it). The"
              + " host tier holds nothing (host-tier.memory 0B), as nobody can drop a file that it"
              + " has mapped.",
          "Through a full tier: as to a GPU, but for its driver. Four threads read past the page cache"
              + " into memory of other models' weights (0.62 and 0.55 of these), which the tier gives up for them, and a transfer follows them through a staging buffer of"
              + " 8 MiB, from its lease until the last byte has passed. Through an empty tier: the"
              + " same into memory that is new to the process.",
          "Warm, from memory, from disk: one request in this process without HTTP, its weights on"
              + " the device, in the page cache, or on disk. Read, then compute: all weights at the"
              + " direct reader's rate and then a warm run; below 1 a run begins before its weights"
              + " have been read.");

  private TiersColumns() {}
}
