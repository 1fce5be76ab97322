package io.pipelane.config;

import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The device that models run on, written {@code cpu}, {@code cuda:0,1} or {@code auto}. */
public sealed interface DeviceSelection {
  /** The processor, under the same rules as an accelerator. */
  record Cpu() implements DeviceSelection {
    @Override
    public String toString() {
      return "cpu";
    }
  }

  /** CUDA devices by their ordinals, in the order wanted. */
  record Cuda(List<Integer> ordinals) implements DeviceSelection {
    public Cuda {
      ordinals = List.copyOf(ordinals);
      if (ordinals.isEmpty() || ordinals.stream().distinct().count() != ordinals.size()) {
        throw new IllegalArgumentException("each CUDA device once, and at least one: " + ordinals);
      }
    }

    @Override
    public String toString() {
      return ordinals.stream().map(String::valueOf).collect(Collectors.joining(",", "cuda:", ""));
    }
  }

  /** The first CUDA device where there is one, else the CPU. */
  record Auto() implements DeviceSelection {
    @Override
    public String toString() {
      return "auto";
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
        if (!Pattern.matches("cuda:\\d{1,2}(,\\d{1,2})*", form)) {
          throw new IllegalArgumentException(
              "\"" + text + "\" is not a device; write cpu, cuda, cuda:0,1 or auto");
        }
        String ordinals = form.substring("cuda:".length());
        yield new Cuda(Stream.of(ordinals.split(",")).map(Integer::valueOf).toList());
      }
    };
  }
}
