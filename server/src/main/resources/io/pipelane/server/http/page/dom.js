// Elements without markup: whatever a model is called, it stays text.

/** Makes an element with properties and children; text is never read as markup. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    made[name] = value;
  }
  made.append(...children);
  return made;
}

/** Sets an element's text where it differs. */
export function say(target, text) {
  if (target.textContent !== text) {
    target.textContent = text;
  }
}

/** Sets a property of an element's style where it differs. */
export function style(target, name, value) {
  if (target.style.getPropertyValue(name) !== value) {
    target.style.setProperty(name, value);
  }
}

/** Keeps as many children as there are values, made by one function and updated by another. */
export function children(parent, values, make, update) {
  while (parent.children.length > values.length) {
    parent.lastElementChild.remove();
  }
  values.forEach((value, index) => {
    if (index === parent.children.length) {
      parent.append(make());
    }
    update(parent.children[index], value);
  });
}
