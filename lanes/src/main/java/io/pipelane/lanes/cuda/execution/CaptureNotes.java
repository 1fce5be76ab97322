package io.pipelane.lanes.cuda.execution;

import io.pipelane.lanes.cuda.CaptureSettings;
import io.pipelane.runtime.TensorSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** What people are told of a session's captures: the shapes, or why there are none. */
final class CaptureNotes {
  private CaptureNotes() {}

  static List<String> of(
      CaptureSettings settings, List<Capture> captures, Optional<String> refusal) {
    List<String> notes = new ArrayList<>();
    captures.stream().map(CaptureNotes::of).distinct().sorted().forEach(notes::add);
    if (refusal.isPresent()) {
      notes.add("not captured: " + refusal.get());
    } else if (settings.afterRequests() == 0 || settings.maximumCaptures() == 0) {
      notes.add("not captured: capturing is switched off");
    } else if (captures.isEmpty()) {
      notes.add(
          "not captured yet: shapes are captured at request %d of the same"
              .formatted(settings.afterRequests()));
    }
    return notes;
  }

  private static String of(Capture capture) {
    return capture.shapes().inputs().stream()
        .map(CaptureNotes::of)
        .collect(Collectors.joining(", ", "captured for ", ""));
  }

  private static String of(TensorSpec input) {
    return input.name() + " " + input.shape();
  }
}
