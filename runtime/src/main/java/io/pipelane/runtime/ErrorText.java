package io.pipelane.runtime;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** ONNX Runtime's messages as people can read them. */
final class ErrorText {
  /** In front of it stand C++ signatures, behind it source files of the build. */
  private static final Pattern OF_LIBRARY =
      Pattern.compile("(CUDA|CUDNN|CUBLAS|CUFFT)[A-Z_ ]* failure \\d+: (?s:.*?)(?= *;)");

  /** A source file with its line, a C++ signature and the condition that did not hold. */
  private static final Pattern CONDITION = Pattern.compile("/\\S+\\.(cc|h):\\d+ .* was false\\. ");

  private ErrorText() {}

  /** What a library said, where that is quoted, or else all of it without places in sources. */
  static String of(String message) {
    Matcher quoted = OF_LIBRARY.matcher(message);
    return quoted.find() ? quoted.group() : CONDITION.matcher(message).replaceAll("").strip();
  }
}
