"""moorage new: a plugin's package, complete and tested, to change from there.

command    the command and its options
names      what to call distribution, module, class and label
pieces     for each extension point a method that does something, and its test
package    the files
"""
