package io.pipelane.config.value;

import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The devices that models run on, written {@code cpu}, {@code cuda:0,1} or {@code auto}. */
public sealed interface DeviceSelection {
  /**
   * The processor, under the same rules as an accelerator: as one device, or as several, each with
   * memory and lanes of its own.
   *
   * @param ordinals of several devices; empty for the processor as one
   */
  record Cpu(List<Integer> ordinals) implements DeviceSelection {
    public Cpu {
      ordinals = List.copyOf(ordinals);
      requireDistinct(ordinals);
    }

    /** The processor as one device. */
    public Cpu() {
      this(List.of());
    }

    /** What the devices are called. */
    public List<String> names() {
      return ordinals.isEmpty() ? List.of("cpu") : ordinals.stream().map(i -> "cpu:" + i).toList();
    }

    @Override
    public String toString() {
      return ordinals.isEmpty() ? "cpu" : written("cpu:", ordinals);
    }
  }

  /** CUDA devices by their ordinals, in the order wanted. */
  record Cuda(List<Integer> ordinals) implements DeviceSelection {
    public Cuda {
      ordinals = List.copyOf(ordinals);
      requireDistinct(ordinals);
      if (ordinals.isEmpty()) {
        throw new IllegalArgumentException("at least one CUDA device");
      }
    }

    @Override
    public String toString() {
      return written("cuda:", ordinals);
    }
  }

  /** The first CUDA device where there is one, else the CPU. */
  record Auto() implements DeviceSelection {
    @Override
    public String toString() {
      return "auto";
    }
  }

  private static String written(String kind, List<Integer> ordinals) {
    return ordinals.stream().map(String::valueOf).collect(Collectors.joining(",", kind, ""));
  }

  private static void requireDistinct(List<Integer> ordinals) {
    if (ordinals.stream().distinct().count() != ordinals.size()) {
      throw new IllegalArgumentException("each device once: " + ordinals);
    }
  }

  /**
   * Reads a selection; {@code cuda} alone is the first CUDA device.
   *
   * @throws IllegalArgumentException when the text is none of the forms
   */
  static DeviceSelection parse(String text) {
    String form = text.strip().toLowerCase(Locale.ROOT);
    return switch (form) {
      case "cpu" -> new Cpu();
      case "auto" -> new Auto();
      case "cuda" -> new Cuda(List.of(0));
      default -> {
        Matcher several = Pattern.compile("(cpu|cuda):(\\d{1,2}(?:,\\d{1,2})*)").matcher(form);
        if (!several.matches()) {
          throw new IllegalArgumentException(
              "\"" + text + "\" is not a device; write cpu, cpu:0,1, cuda, cuda:0,1 or auto");
        }
        List<Integer> ordinals =
            Stream.of(several.group(2).split(",")).map(Integer::valueOf).toList();
        yield several.group(1).equals("cpu") ? new Cpu(ordinals) : new Cuda(ordinals);
      }
    };
  }
}
