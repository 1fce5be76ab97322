package io.pipelane.lanes.execution;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class ForwardingSessionsTest {
  /** A default that is not passed on answers for the factory that is asked through it. */
  @Test
  void everything_isPassedOn() {
    List<String> left =
        Arrays.stream(SessionFactory.class.getMethods())
            .filter(method -> !isDeclared(method))
            .map(Method::toString)
            .toList();
    assertEquals(List.of(), left);
  }

  private static boolean isDeclared(Method method) {
    return Arrays.stream(ForwardingSessions.class.getDeclaredMethods())
        .anyMatch(
            own ->
                own.getName().equals(method.getName())
                    && Arrays.equals(own.getParameterTypes(), method.getParameterTypes()));
  }
}
