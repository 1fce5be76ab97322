package io.pipelane.config.section;

import io.pipelane.config.value.ByteSize;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/** The checks on model files, and their preparation. */
public record ImportConfig(
    @Key(about = "Longest time that one import may take", standard = "5m", min = "1s", max = "24h")
        Duration timeout,
    @Key(
            about =
                "Address space that one import may take: Java, ONNX Runtime and mapped files. For"
                    + " a GPU it limits the import's Java heap instead",
            standard = "16GiB",
            min = "2GiB",
            max = "1TiB")
        ByteSize memory,
    @Key(
            about = "Largest model: all files of a version together",
            standard = "16GiB",
            min = "1KiB",
            max = "1TiB")
        ByteSize maxFileSize,
    @Key(
            about = "Least bytes of weights between two gates",
            unset = "256KiB on the CPU, 1MiB on a GPU",
            min = "1KiB",
            max = "1GiB")
        Optional<ByteSize> minSegment,
    @Key(
            about = "Most segments that import cuts a model into by the bytes of its weights",
            unset = "16 on the CPU, 32 on a GPU",
            min = "1",
            max = "256")
        Optional<Integer> maxSegments,
    @Key(
            about = "Longest estimated time between two gates, in microseconds, for one item",
            unset = "2000 on the CPU, 200 on a GPU",
            min = "10",
            max = "1000000000")
        Optional<Integer> maxSegmentMicros,
    @Key(
            about = "Imports that run at a time; loads of models by name may have two more",
            standard = "1",
            min = "1",
            max = "64")
        int concurrency) {
  private static final int CPU_SEGMENTS = 16;
  private static final int GPU_SEGMENTS = 32;
  private static final Duration CPU_LONGEST = Duration.ofMillis(2);
  private static final Duration GPU_LONGEST = Duration.of(200, ChronoUnit.MICROS);
  private static final ByteSize CPU_SEGMENT = new ByteSize(256 << 10);
  private static final ByteSize GPU_SEGMENT = ByteSize.ofMebibytes(1);

  /** Least weight bytes of a segment for the CPU device, whose copies cost little to begin. */
  public ByteSize leastSegmentForCpu() {
    return minSegment.orElse(CPU_SEGMENT);
  }

  /** Least weight bytes of a segment for a GPU. */
  public ByteSize leastSegmentForGpu() {
    return minSegment.orElse(GPU_SEGMENT);
  }

  /** What no segment for the CPU device is to take longer than, for one item. */
  public Duration longestSegmentForCpu() {
    return longestSegment(CPU_LONGEST);
  }

  /** What no segment for a GPU is to take longer than, for one item. */
  public Duration longestSegmentForGpu() {
    return longestSegment(GPU_LONGEST);
  }

  private Duration longestSegment(Duration standard) {
    return maxSegmentMicros.map(micros -> Duration.of(micros, ChronoUnit.MICROS)).orElse(standard);
  }

  /** Most segments that a model is cut into for the CPU device. */
  public int segmentsForCpu() {
    return maxSegments.orElse(CPU_SEGMENTS);
  }

  /** Most segments that a model is cut into for a GPU, which pauses less between two. */
  public int segmentsForGpu() {
    return maxSegments.orElse(GPU_SEGMENTS);
  }
}
