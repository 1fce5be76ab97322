package io.pipelane.runtime;

import io.pipelane.config.Status;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An error of ONNX Runtime as people can read it.
 *
 * @param status what it means to us
 */
record ErrorText(Status status, String text) {
  /**
   * What a library on a GPU said and was asked: in front of it stand C++ signatures, behind it the
   * places of source files.
   */
  private static final Pattern OF_LIBRARY =
      Pattern.compile(
          "(?s)(?<node>.*?)(/\\S+\\.(cc|h|cu):\\d+ .*?)?"
              + "(?<said>(CUDA|CUDNN|CUBLAS|CUFFT)[A-Z_ ]* failure \\d+: .*?) *;"
              + ".*?expr=(?<call>.*?); *\\s*$");

  /** A source file with its line, a C++ signature and the condition that did not hold. */
  private static final Pattern CONDITION = Pattern.compile("/\\S+\\.(cc|h):\\d+ .* was false\\. ");

  private static final Pattern OUT_OF_MEMORY =
      Pattern.compile("(?i)out of memory|ALLOC_FAILED|CUDA failure 2:");

  /** Reads a message. */
  static ErrorText of(OrtErrorCode code, String message) {
    Matcher library = OF_LIBRARY.matcher(message);
    if (!library.find()) {
      return new ErrorText(code.status(), CONDITION.matcher(message).replaceAll("").strip());
    }
    String said = library.group("said");
    String text = "%s%s, by %s".formatted(library.group("node"), said, library.group("call"));
    boolean full = OUT_OF_MEMORY.matcher(said).find();
    return new ErrorText(full ? Status.INSUFFICIENT_MEMORY : Status.DEVICE_FAILURE, text.strip());
  }
}
