package io.pipelane.loadgen;

import io.pipelane.loadgen.request.InputFiles;
import io.pipelane.loadgen.request.InputSettings;
import io.pipelane.loadgen.request.Pixels;
import io.pipelane.loadgen.request.RequestParameter;
import io.pipelane.loadgen.request.Strings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** Options that say what requests hold. */
final class InputOptions {
  private static final String INTEGERS = "0:99";
  private static final String UNSCALED = "0:1";
  private static final Pattern RANGE = Pattern.compile("(-?\\d{1,18})(?::|\\.\\.)(-?\\d{1,18})");

  @Option(
      names = "-b",
      paramLabel = "N",
      description = "Batch: size of every input's first dimension where the model leaves it open.")
  @Nullable Integer batch;

  @Option(
      names = "--shape",
      paramLabel = "INPUT:DIMS",
      description = {
        "The shape of an input, like input_ids:1,16; MODEL/INPUT:DIMS for one model's.",
        "Open dimensions are 1 otherwise."
      })
  List<String> shapes = new ArrayList<>();

  @Option(
      names = "--input-data",
      paramLabel = "zero|random|PATH",
      defaultValue = "random",
      description = {
        "What inputs hold (${DEFAULT-VALUE}). A file in perf_analyzer's JSON form, or a folder with "
            + "INPUT.npy or the bare bytes as INPUT or INPUT.bin; a picture (PNG, JPEG, GIF, BMP), a text "
            + "with an example a line, or a folder of them; or a folder with such files and folders by"
            + " model."
      })
  String inputData = "random";

  @Option(
      names = "--pixels",
      paramLabel = "MEAN:DEVIATION",
      description = {
        "A picture's numbers: (brightness / 255 - mean) / deviation, each one number or three with "
            + "commas, for red, green and blue (0:1)."
      })
  @Nullable String pixels;

  @Option(
      names = "--tokenizer",
      paramLabel = "FILE",
      description = "What turns texts into tokens (tokenizer.json beside them).")
  @Nullable Path tokenizer;

  @Option(
      names = "--int-range",
      paramLabel = "MIN:MAX",
      description = "Random integers lie within, both ends included (0:99).")
  @Nullable String intRange;

  @Option(
      names = "--string-length",
      paramLabel = "N",
      description = "Random strings have so many letters (128).")
  @Nullable Integer stringLength;

  @Option(
      names = "--string-data",
      paramLabel = "TEXT",
      description = "Every string is this, instead of random letters.")
  @Nullable String stringData;

  @Option(
      names = "--request-parameter",
      paramLabel = "NAME:VALUE:TYPE",
      converter = ParameterConverter.class,
      description = {
        "A parameter that every request carries beside its tensors, of type bool, int or string; give "
            + "it several times for several."
      })
  List<RequestParameter> parameters = new ArrayList<>();

  @Option(
      names = {"--format", "--input-tensor-format"},
      paramLabel = "binary|json",
      defaultValue = "binary",
      description = "How tensors travel over HTTP (${DEFAULT-VALUE}).")
  Format format = Format.BINARY;

  /** The form in which the protocol's tensors travel. */
  enum Format {
    BINARY,
    JSON
  }

  @Option(
      names = "--output-tensor-format",
      paramLabel = "binary|json",
      description =
          "How outputs are asked for over HTTP (as inputs travel; perf_analyzer's is binary).")
  @Nullable Format outputFormat;

  @Option(
      names = "--check-outputs",
      paramLabel = "TOLERANCE",
      arity = "0..1",
      fallbackValue = "1e-3",
      description = {
        "Compare answers with the outputs that the files of --input-data expect: validation_data, or "
            + "a folder named expected. Numbers may be off by this share of the tensor's size (1e-3). NaN "
            + "is equal to NaN, and each infinity to itself; Pipelane's JSON has null for all of them, which "
            + "is read as NaN: with infinities, ask for --output-tensor-format binary."
      })
  @Nullable Double tolerance;

  /** Rows of a request; 0 leaves them to the shapes. */
  int batch() {
    return batch == null ? 0 : batch;
  }

  /** Whether inputs are made up, and not read from files. */
  boolean isMade() {
    return is("zero") || is("random");
  }

  private boolean is(String values) {
    return inputData.toLowerCase(Locale.ROOT).equals(values);
  }

  private void requireUsed() {
    if (batch != null && batch < 1) {
      throw new IllegalArgumentException("-b must be between 1 and 65536: " + batch);
    }
    if (intRange != null && !is("random")) {
      throw new IllegalArgumentException("--int-range is for --input-data random");
    }
    if ((stringLength != null || stringData != null) && !is("random")) {
      throw new IllegalArgumentException(
          "--string-length and --string-data are for --input-data random");
    }
    if (stringLength != null && stringData != null) {
      throw new IllegalArgumentException(
          "--string-data says how long strings are; leave out --string-length");
    }
    if (isMade() && (pixels != null || tokenizer != null)) {
      throw new IllegalArgumentException(
          "--pixels and --tokenizer are for pictures and texts; name them with --input-data");
    }
  }

  /** What the options stand for where the format is one that a transport prescribes. */
  InputSettings settings(InputSettings.@Nullable Format prescribed, long seed) {
    requireUsed();
    if (prescribed == InputSettings.Format.DJL && !parameters.isEmpty()) {
      throw new IllegalArgumentException(
          "--request-parameter: DJL Serving's own routes take no parameters");
    }
    Matcher range = RANGE.matcher(intRange == null ? INTEGERS : intRange);
    if (!range.matches()) {
      throw new IllegalArgumentException(
          "--int-range: \"" + intRange + "\" is not a range; write MIN:MAX, like 0:99");
    }
    Map<String, List<Long>> byInput = new LinkedHashMap<>();
    shapes.forEach(shape -> addShape(byInput, shape));
    Pixels scaling = Pixels.parse(pixels == null ? UNSCALED : pixels);
    return new InputSettings(
        is("zero") ? InputSettings.Values.ZERO : InputSettings.Values.RANDOM,
        isMade() ? null : new InputFiles(Path.of(inputData), scaling, tokenizer),
        prescribed != null
            ? prescribed
            : switch (format) {
              case BINARY -> InputSettings.Format.BINARY;
              case JSON -> InputSettings.Format.JSON;
            },
        byInput,
        batch(),
        Long.parseLong(range.group(1)),
        Long.parseLong(range.group(2)),
        new Strings(stringLength == null ? Strings.USUAL.length() : stringLength, stringData),
        (outputFormat == null ? format : outputFormat) == Format.BINARY,
        parameters,
        seed);
  }

  /** A converter of {@code NAME:VALUE:TYPE}; values may contain colons. */
  static final class ParameterConverter implements ITypeConverter<RequestParameter> {
    @Override
    public RequestParameter convert(String text) {
      int first = text.indexOf(':');
      int last = text.lastIndexOf(':');
      try {
        if (first > 0 && last > first) {
          return new RequestParameter(
              text.substring(0, first),
              RequestParameter.Type.valueOf(text.substring(last + 1).toUpperCase(Locale.ROOT)),
              text.substring(first + 1, last));
        }
        throw new IllegalArgumentException("it has no type");
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(
            "\"%s\" is not NAME:VALUE:TYPE, like priority:1:int, of type bool, int or string: %s"
                .formatted(text, e.getMessage()));
      }
    }
  }

  /** Names may contain colons, so the last one ends the name. */
  private static void addShape(Map<String, List<Long>> shapes, String text) {
    int colon = text.lastIndexOf(':');
    String dimensions = text.substring(colon + 1);
    if (colon < 1 || !dimensions.matches("\\d{1,10}(,\\d{1,10})*")) {
      throw new IllegalArgumentException(
          "--shape: \"" + text + "\" is not a shape; write INPUT:DIMS, like input_ids:1,16");
    }
    List<Long> before =
        shapes.put(
            text.substring(0, colon),
            Arrays.stream(dimensions.split(",", -1)).map(Long::parseLong).toList());
    if (before != null) {
      throw new IllegalArgumentException(
          "--shape: \"%s\" has two shapes; give one".formatted(text.substring(0, colon)));
    }
  }
}
