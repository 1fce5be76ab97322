package io.pipelane.server.protocol;

import io.pipelane.modelstore.repository.ModelOptions.Priority;
import io.pipelane.switcher.InferenceRequest;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The class of a request, by its name or by a number as Triton has it: the request parameter {@code
 * priority}, or the header of the same meaning, which stands above it.
 */
public final class RequestPriority {
  private static final Pattern NUMBER = Pattern.compile("\\d{1,10}");

  /** Names a request's class in its header, as those do who do not write its body. */
  public static final String HEADER = "pipelane-priority";

  private RequestPriority() {}

  /**
   * A request in the class that its header names.
   *
   * @param header what it says; null where it says nothing
   * @throws io.pipelane.config.StatusException for what is no class
   */
  public static InferenceRequest classed(InferenceRequest request, @Nullable String header) {
    Priority named = header == null ? null : of(header.strip(), "the header " + HEADER);
    return named == null ? request : request.inClass(named);
  }

  /**
   * Reads a value: {@code online} or {@code offline}; or 1, the highest, for online and anything
   * below for offline; 0 leaves it to the model.
   *
   * @return null where it is left to the model
   * @throws io.pipelane.config.StatusException for anything else
   */
  public static @Nullable Priority of(String value) {
    return of(value, "the request: parameter \"priority\"");
  }

  private static @Nullable Priority of(String value, String place) {
    String text = value.toLowerCase(Locale.ROOT);
    if (NUMBER.matcher(text).matches()) {
      long number = Long.parseLong(text);
      return number == 0 ? null : number == 1 ? Priority.ONLINE : Priority.OFFLINE;
    }
    return switch (text) {
      case "online" -> Priority.ONLINE;
      case "offline" -> Priority.OFFLINE;
      default ->
          throw Json.invalid(
              "%s is \"%s\"; allowed are online, offline and whole"
                      .formatted(place, Json.shorten(value))
                  + " numbers: 0 for the model's, 1 for online, more for offline");
    };
  }
}
